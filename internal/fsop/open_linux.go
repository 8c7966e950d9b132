package fsop

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// Open opens a regular file for reading and says what it is. The entry is first
// taken as a handle and looked at; only a regular file is then opened, through
// that handle. Anything else is a conflict and is never opened.
func (d *Dir) Open(rel string) (*os.File, Info, error) {
	fd, info, err := d.openFile("open file", rel)
	if err != nil {
		return nil, Info{}, err
	}
	return os.NewFile(uintptr(fd), d.abs(rel)), info, nil
}

// openFile is Open with a bare descriptor.
func (d *Dir) openFile(op, rel string) (int, Info, error) {
	h, info, err := d.handle(op, rel)
	if err != nil {
		return -1, Info{}, err
	}
	defer unix.Close(h)
	if info.Kind != KindFile {
		return -1, Info{}, notRegular(op, d.abs(rel), info.Kind)
	}
	fd, err := reopen(h, unix.O_RDONLY)
	if err != nil {
		return -1, Info{}, fail(op, d.abs(rel), err)
	}
	return fd, info, nil
}

func notRegular(op, path string, k Kind) error {
	e := fault.New(fault.Conflict, op, "%s is a %s, not a regular file", show(path), k)
	switch k {
	case KindSymlink:
		e.Code, e.Cause = fault.Denied, unix.ELOOP
	case KindDir:
		e.Cause = unix.EISDIR
	default: // a special file: there is no errno for it
	}
	return e
}

// reopen opens the object behind an O_PATH handle. O_NOCTTY and O_NONBLOCK cost
// nothing for a regular file and are there for the day a check above is wrong.
func reopen(h, flags int) (int, error) {
	fd, err := retryIntr(func() (int, error) {
		return unix.Open(procPath(h), flags|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		if _, serr := os.Stat("/proc/self/fd"); serr != nil {
			return -1, fault.New(fault.Unsupported, "open file", "/proc is not mounted").WithCause(err)
		}
	}
	return fd, err
}

// Create makes a new regular file of exactly this mode, open for reading and
// writing. Whatever already has the name, a dangling link included, is `exists`.
func (d *Dir) Create(rel string, perm uint32) (*os.File, error) {
	p, err := d.parentOf("create file", rel)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := d.before("create", rel); err != nil {
		return nil, fail("create file", d.abs(rel), err)
	}
	fd, err := createAt(p.fd, p.base, perm, d.resolve)
	if err != nil {
		return nil, fail("create file", d.abs(rel), err)
	}
	return os.NewFile(uintptr(fd), d.abs(rel)), nil
}

func createAt(dirfd int, name string, perm uint32, resolve uint64) (int, error) {
	fd, err := openat2(dirfd, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_RDWR, perm&0o777, resolve)
	if err != nil {
		return -1, err
	}
	if err := ignoreIntr(func() error { return unix.Fchmod(fd, perm&0o7777) }); err != nil {
		_ = unix.Unlinkat(dirfd, name, 0)
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
