package fsop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"

	"golang.org/x/sys/unix"
)

// CopyFile copies one regular file: blocks shared where the file system can,
// else copied inside the kernel, else read and written; holes stay holes. A
// source that is not a regular file is a conflict, a destination name that is
// taken is `exists` unless opts.Replace. A failed copy leaves nothing behind.
func CopyFile(ctx context.Context, src *Dir, srel string, dst *Dir, drel string, opts CopyOptions) (CopyResult, error) {
	in, info, err := src.openFile("copy file", srel)
	if err != nil {
		return CopyResult{}, err
	}
	defer unix.Close(in)
	p, err := dst.parentOf("copy file", drel)
	if err != nil {
		return CopyResult{}, err
	}
	defer p.close()
	c := &copier{opts: opts, stripACL: hasDefaultACL(p.fd)}
	res, err := c.file(ctx, dst, in, info, p.fd, p.base, drel)
	if err != nil {
		return CopyResult{}, fail("copy file", dst.abs(drel), err)
	}
	return res, nil
}

// file copies the open file in to a new name in a held directory. drel is for
// messages. It returns bare errnos.
func (c *copier) file(ctx context.Context, d *Dir, in int, info Info, dirfd int, name, drel string) (res CopyResult, err error) {
	res = CopyResult{Info: info}
	out, err := c.create(d, dirfd, name, drel)
	if err != nil {
		return res, err
	}
	defer func() {
		if cerr := unix.Close(out); err == nil {
			err = cerr
		}
		if err != nil {
			_ = unix.Unlinkat(dirfd, name, 0)
		}
	}()
	var h hash.Hash
	if c.opts.Hash {
		h = sha256.New()
	}
	if err := d.before("write", drel); err != nil {
		return res, err
	}
	if res.Reflinked, err = c.content(ctx, out, in, info, h); err != nil {
		return res, err
	}
	attrs, lost, err := readXattrs(in, c.opts.SkipXattr)
	if err != nil {
		return res, err
	}
	if err := d.before("setattr", drel); err != nil {
		return res, err
	}
	more, err := c.setMeta(out, info, attrs)
	if err != nil {
		return res, err
	}
	res.Lost = append(lost, more...)
	if c.opts.Sync {
		if err := d.before("fsync", drel); err != nil {
			return res, err
		}
		if err := ignoreIntr(func() error { return unix.Fsync(out) }); err != nil {
			return res, err
		}
	}
	if h != nil {
		res.SHA256 = hex.EncodeToString(h.Sum(nil))
	}
	return res, c.settle(&res, in, out)
}

// settle learns the copy's size and whether the source held still.
func (c *copier) settle(res *CopyResult, in, out int) error {
	var st unix.Stat_t
	if err := unix.Fstat(out, &st); err != nil {
		return err
	}
	now, err := statFD(in)
	if err != nil {
		return err
	}
	res.Size = st.Size
	res.Unstable = now.Size != res.Info.Size || !now.Mtime.Equal(res.Info.Mtime) || st.Size != res.Info.Size
	return nil
}

func (c *copier) create(d *Dir, dirfd int, name, drel string) (int, error) {
	for tries := 0; ; tries++ {
		if err := d.before("create", drel); err != nil {
			return -1, err
		}
		fd, err := openat2(dirfd, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_RDWR, 0o600, d.resolve)
		if !errors.Is(err, unix.EEXIST) || !c.opts.Replace || tries > 8 {
			return fd, err
		}
		if err := unix.Unlinkat(dirfd, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return -1, err
		}
	}
}

// HashFile returns the SHA-256 of a regular file's contents and how many bytes
// that were.
func HashFile(ctx context.Context, d *Dir, rel string) (hexSHA256 string, size int64, err error) {
	fd, _, err := d.openFile("hash file", rel)
	if err != nil {
		return "", 0, err
	}
	defer unix.Close(fd)
	if err := d.before("read", rel); err != nil {
		return "", 0, fail("hash file", d.abs(rel), err)
	}
	h := &counting{Hash: sha256.New()}
	if err := new(copier).hashRange(ctx, fd, 0, 1<<62, h); err != nil {
		return "", 0, fail("hash file", d.abs(rel), err)
	}
	return hex.EncodeToString(h.Sum(nil)), h.n, nil
}

type counting struct {
	hash.Hash
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}
