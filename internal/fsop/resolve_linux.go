package fsop

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

const (
	// maxEAGAIN bounds how often a lookup is repeated that the kernel could not
	// finish safely because something was renamed meanwhile.
	maxEAGAIN = 128
	// maxChunk is how much of a path one lookup takes. PATH_MAX is 4096; longer
	// paths are walked in pieces.
	maxChunk = 4000
)

func retryIntr[T any](f func() (T, error)) (T, error) {
	for {
		v, err := f()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

func ignoreIntr(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// openat2 is one kernel lookup. It returns bare errnos, but for a kernel that
// lacks the call: that is never answered with a weaker lookup.
func openat2(dirfd int, path string, flags int, mode uint32, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Mode: uint64(mode), Resolve: resolve}
	for again := 0; ; {
		fd, err := unix.Openat2(dirfd, path, &how)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN) && again < maxEAGAIN:
			again++
		case errors.Is(err, unix.ENOSYS):
			return -1, fault.New(fault.Unsupported, "look up path", "this kernel has no openat2").
				WithHint("ambit needs Linux 5.8 or later").WithCause(err)
		default:
			return -1, err
		}
	}
}

// open looks rel up beneath d and makes nothing. The caller owns the descriptor.
func (d *Dir) open(op, rel string, flags int) (int, error) {
	if err := CheckRel(rel); err != nil {
		return -1, err
	}
	if err := d.acquire(); err != nil {
		return -1, err
	}
	defer d.release()
	if err := d.before("openat", rel); err != nil {
		return -1, fail(op, d.abs(rel), err)
	}
	fd, err := openLong(d.fd, rel, flags, d.resolve)
	if err != nil {
		return -1, lookupFail(op, d.abs(rel), err)
	}
	return fd, nil
}

// openLong is openat2 for paths of any length, to what exists.
func openLong(dirfd int, rel string, flags int, resolve uint64) (int, error) {
	base := dirfd
	for len(rel) > maxChunk {
		cut := strings.LastIndexByte(rel[:maxChunk], '/')
		if cut <= 0 {
			break // one component longer than any file system takes: the kernel says so
		}
		next, err := openat2(base, rel[:cut], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, resolve)
		if base != dirfd {
			_ = unix.Close(base)
		}
		if err != nil {
			return -1, err
		}
		base, rel = next, rel[cut+1:]
	}
	fd, err := openat2(base, rel, flags, 0, resolve)
	if base != dirfd {
		_ = unix.Close(base)
	}
	return fd, err
}

// lookupFail words what openat2 refuses in terms of the tree.
func lookupFail(op, path string, err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		return &fault.Error{Code: fault.Denied, Op: op, Message: show(path) + " leads through a link", Cause: err}
	case errors.Is(err, unix.EXDEV):
		return &fault.Error{Code: fault.Denied, Op: op, Message: show(path) + " leads out of the directory or across a mount", Cause: err}
	}
	return fail(op, path, err)
}

// parent is a held parent directory of one name.
type parent struct {
	fd   int
	base string
	own  bool // fd was opened for this use
	dir  *Dir
}

func (p parent) close() {
	if p.own {
		_ = unix.Close(p.fd)
	}
	p.dir.release()
}

// parentOf opens the directory that holds rel's last component.
func (d *Dir) parentOf(op, rel string) (parent, error) {
	if err := CheckRel(rel); err != nil {
		return parent{}, err
	}
	if rel == "." {
		return parent{}, fault.New(fault.Invalid, op, "%s: the directory itself has no name here", show(d.name))
	}
	if err := d.acquire(); err != nil {
		return parent{}, err
	}
	dir, base := SplitRel(rel)
	if dir == "." {
		return parent{fd: d.fd, base: base, dir: d}, nil
	}
	err := d.before("openat", dir)
	fd := -1
	if err == nil {
		fd, err = openLong(d.fd, dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, d.resolve)
	}
	if err != nil {
		d.release()
		return parent{}, lookupFail(op, d.abs(rel), err)
	}
	return parent{fd: fd, base: base, own: true, dir: d}, nil
}

// handle opens the entry itself, whatever it is, without opening what it stands
// for: O_PATH, links not followed.
func (d *Dir) handle(op, rel string) (int, Info, error) {
	fd, err := d.open(op, rel, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return -1, Info{}, err
	}
	info, err := statFD(fd)
	if err != nil {
		_ = unix.Close(fd)
		return -1, Info{}, fail(op, d.abs(rel), err)
	}
	return fd, info, nil
}
