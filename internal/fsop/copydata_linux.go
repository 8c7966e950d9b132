package fsop

import (
	"context"
	"errors"
	"hash"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	copyBuffer = 256 * 1024
	// rangeChunk is how much one copy_file_range call takes, so that a cancelled
	// copy of a large file ends soon.
	rangeChunk = 32 << 20
)

var (
	copyPool = sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }}
	zeros    [32 * 1024]byte
)

// copier copies contents and remembers what these two file systems cannot do.
type copier struct {
	opts     CopyOptions
	noClone  atomic.Bool
	noRange  atomic.Bool
	stripACL bool // the destination's parents have a default ACL to be undone
	// done is told how many bytes were dealt with since it was told last; nil = nobody asks.
	done func(n int64)
}

func (c *copier) tell(n int64) {
	if c.done != nil && n > 0 {
		c.done(n)
	}
}

// content fills the empty file dst with the size bytes of src.
func (c *copier) content(ctx context.Context, dst, src int, info Info, h hash.Hash) (reflinked bool, err error) {
	if info.Size == 0 {
		return false, nil
	}
	if !c.opts.NoReflink && !c.noClone.Load() {
		done, err := c.clone(ctx, dst, src, h)
		if done || err != nil {
			return done, err
		}
	}
	if !info.Sparse() {
		n, err := c.segment(ctx, dst, src, 0, info.Size, h)
		if err == nil && n < info.Size {
			err = cutShort(dst, n)
		}
		return false, err
	}
	return false, c.sparse(ctx, dst, src, info.Size, h)
}

// cutShort gives a copy the length of a source that shrank meanwhile.
func cutShort(dst int, n int64) error {
	return ignoreIntr(func() error { return unix.Ftruncate(dst, n) })
}

// clone shares the blocks of the source, where both lie on one file system that can.
func (c *copier) clone(ctx context.Context, dst, src int, h hash.Hash) (bool, error) {
	err := ignoreIntr(func() error { return unix.IoctlFileClone(dst, src) })
	switch {
	case err == nil:
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENOTTY), errors.Is(err, unix.ENOSYS):
		c.noClone.Store(true)
		return false, nil
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EIO):
		return false, err
	default: // this pair only: no-copy-on-write files, swap files
		return false, nil
	}
	// The clone has the source's size of this moment: hash the clone itself.
	var st unix.Stat_t
	if err := unix.Fstat(dst, &st); err != nil {
		return true, err
	}
	if h == nil {
		c.tell(st.Size)
		return true, nil
	}
	return true, c.hashRange(ctx, dst, 0, st.Size, h)
}

// sparse copies the data between the holes of src and leaves holes in dst.
func (c *copier) sparse(ctx context.Context, dst, src int, size int64, h hash.Hash) error {
	for off := int64(0); off < size; {
		data, err := unix.Seek(src, off, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO): // nothing but a hole is left
			data = size
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
			data = off
		case err != nil:
			return err
		}
		data = min(data, size)
		if err := c.hole(ctx, data-off, h); err != nil {
			return err
		}
		if data == size {
			break
		}
		end, err := unix.Seek(src, data, unix.SEEK_HOLE)
		if err != nil || end <= data {
			end = size
		}
		end = min(end, size)
		n, err := c.segment(ctx, dst, src, data, end-data, h)
		if err != nil {
			return err
		}
		if n < end-data { // the source shrank
			return cutShort(dst, data+n)
		}
		off = end
	}
	return ignoreIntr(func() error { return unix.Ftruncate(dst, size) })
}

// segment copies n bytes at off; fewer when the source ends before.
func (c *copier) segment(ctx context.Context, dst, src int, off, n int64, h hash.Hash) (int64, error) {
	var done int64
	for h == nil && !c.noRange.Load() && done < n {
		if err := context.Cause(ctx); err != nil {
			return done, err
		}
		from, to := off+done, off+done
		k, err := unix.CopyFileRange(src, &from, dst, &to, int(min(n-done, rangeChunk)), 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			c.noRange.Store(true)
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM), errors.Is(err, unix.ETXTBSY):
		case err != nil:
			return done, err
		case k > 0:
			done += int64(k)
			c.tell(int64(k))
			continue
		}
		break // not to be had, or the end: reading tells which
	}
	bp, _ := copyPool.Get().(*[]byte)
	defer copyPool.Put(bp)
	for done < n {
		if err := context.Cause(ctx); err != nil {
			return done, err
		}
		buf := (*bp)[:min(n-done, copyBuffer)]
		k, err := retryIntr(func() (int, error) { return unix.Pread(src, buf, off+done) })
		if err != nil || k == 0 {
			return done, err
		}
		if h != nil {
			h.Write(buf[:k])
		}
		if err := pwriteAll(dst, buf[:k], off+done); err != nil {
			return done, err
		}
		done += int64(k)
		c.tell(int64(k))
	}
	return done, nil
}

func pwriteAll(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := retryIntr(func() (int, error) { return unix.Pwrite(fd, b, off) })
		if err != nil {
			return err
		}
		if n == 0 {
			return unix.EIO
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// hole takes n bytes of nothing into the hash. A hole can be of any size.
func (c *copier) hole(ctx context.Context, n int64, h hash.Hash) error {
	if h == nil {
		c.tell(n)
		return nil
	}
	for n > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		step := min(n, rangeChunk)
		for left := step; left > 0; {
			k := min(left, int64(len(zeros)))
			h.Write(zeros[:k])
			left -= k
		}
		c.tell(step)
		n -= step
	}
	return nil
}

// hashRange hashes n bytes at off; fewer when the file ends before.
func (c *copier) hashRange(ctx context.Context, fd int, off, n int64, h hash.Hash) error {
	bp, _ := copyPool.Get().(*[]byte)
	defer copyPool.Put(bp)
	for n > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		buf := (*bp)[:min(n, copyBuffer)]
		k, err := retryIntr(func() (int, error) { return unix.Pread(fd, buf, off) })
		if err != nil || k == 0 {
			return err
		}
		h.Write(buf[:k])
		c.tell(int64(k))
		off, n = off+int64(k), n-int64(k)
	}
	return nil
}
