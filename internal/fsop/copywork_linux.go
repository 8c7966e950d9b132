package fsop

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// copyBatch is how many files of one directory a worker takes at once.
const copyBatch = 64

// batch is some files of one directory, with their own holds on both sides.
type batch struct {
	src, dst int
	dir      string // relative to the start
	files    []batchFile
}

type batchFile struct {
	name  string
	info  Info
	group *linkGroup
}

func (b batch) close() {
	_ = unix.Close(b.src)
	_ = unix.Close(b.dst)
}

func (t *treeCopy) copyBatch(ctx context.Context, b batch) error {
	for _, f := range b.files {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := t.copyOne(ctx, b, f); err != nil {
			return err
		}
	}
	if t.opts.Progress != nil {
		t.report(t.bytes.Load())
	}
	return nil
}

// tally counts bytes of files that are being copied, and reports now and then:
// one file can take minutes.
func (t *treeCopy) tally(n int64) {
	now := t.bytes.Add(n)
	if last := t.told.Load(); now-last >= rangeChunk && t.told.CompareAndSwap(last, now) {
		t.report(now)
	}
}

func (t *treeCopy) report(done int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.BytesDone = max(t.stats.BytesDone, done)
	t.opts.Progress(t.stats)
}

func (t *treeCopy) copyOne(ctx context.Context, b batch, f batchFile) error {
	path := Join(b.dir, f.name)
	in, info, err := t.openIn(b.src, f.name, path)
	if err != nil {
		return t.unreadable(path, err)
	}
	defer unix.Close(in)
	if info.Kind != KindFile { // exchanged since it was listed
		t.skip(path, info.Kind.String())
		return nil
	}
	res, err := t.file(ctx, t.to.dir, in, info, b.dst, f.name, t.dstPath(path))
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EEXIST) {
		// A directory is in the way, left by an earlier, different copy.
		if err = t.clear(b.dst, f.name); err == nil {
			res, err = t.file(ctx, t.to.dir, in, info, b.dst, f.name, t.dstPath(path))
		}
	}
	if err != nil {
		return fail("copy tree", t.to.dir.abs(t.dstPath(path)), err)
	}
	t.lost(path, res.Lost)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Files++
	if res.Reflinked {
		t.stats.Reflinked++
		t.stats.BytesReflinked += res.Size
	} else {
		t.stats.Copied++
		t.stats.BytesCopied += res.Size
	}
	if res.Unstable {
		t.stats.Unstable = append(t.stats.Unstable, path)
	}
	if f.group != nil {
		f.group.copied, f.group.sha256, f.group.reflinked = true, res.SHA256, res.Reflinked
	}
	if t.opts.Entry != nil {
		info.Size = res.Size
		t.opts.Entry(path, info, res.SHA256, res.Reflinked)
	}
	return nil
}

// openIn opens a file of a held source directory the way Open does.
func (t *treeCopy) openIn(dirfd int, name, path string) (int, Info, error) {
	if err := t.from.dir.before("openat", t.srcPath(path)); err != nil {
		return -1, Info{}, err
	}
	h, err := openat2(dirfd, name, unix.O_PATH|unix.O_NOFOLLOW, 0, t.from.dir.resolve)
	if err != nil {
		return -1, Info{}, err
	}
	defer unix.Close(h)
	info, err := statFD(h)
	if err != nil || info.Kind != KindFile {
		return -1, info, err
	}
	fd, err := reopen(h, unix.O_RDONLY)
	return fd, info, err
}

// clear removes a destination entry of any kind, directories with all they hold.
func (t *treeCopy) clear(dirfd int, name string) error {
	fd, err := unix.FcntlInt(uintptr(dirfd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return err
	}
	at := newDir(fd, t.to.dir.name, t.to.dir.resolve, t.to.dir.intercept)
	defer at.Close()
	return at.RemoveAll(name)
}
