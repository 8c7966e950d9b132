package fsop

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// inParent runs one call on a name in its held parent.
func (d *Dir) inParent(op, call, rel string, f func(dirfd int, name string) error) error {
	p, err := d.parentOf(op, rel)
	if err != nil {
		return err
	}
	defer p.close()
	if err := d.before(call, rel); err != nil {
		return fail(op, d.abs(rel), err)
	}
	return fail(op, d.abs(rel), ignoreIntr(func() error { return f(p.fd, p.base) }))
}

// Mkdir makes a directory of exactly this mode, whatever the umask and the
// parent's set-group-id bit.
func (d *Dir) Mkdir(rel string, perm uint32) error {
	return d.inParent("make directory", "mkdir", rel, func(dirfd int, name string) error {
		return mkdirAt(dirfd, name, perm, d.resolve)
	})
}

func mkdirAt(dirfd int, name string, perm uint32, resolve uint64) error {
	if err := unix.Mkdirat(dirfd, name, perm&0o777); err != nil {
		return err
	}
	fd, err := openat2(dirfd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, resolve)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	info, err := statFD(fd)
	if err != nil {
		return err
	}
	if info.Mode != perm&0o7777 {
		return chmodFD(fd, perm)
	}
	return nil
}

// MkdirAll makes a directory and those above it that are missing, one component
// at a time from held parents. Directories that exist keep their mode; a link or
// another kind of entry on the way is refused.
func (d *Dir) MkdirAll(rel string, perm uint32) error {
	if err := CheckRel(rel); err != nil || rel == "." {
		return err
	}
	if err := d.acquire(); err != nil {
		return err
	}
	defer d.release()
	at, done := d.fd, ""
	defer func() {
		if at != d.fd {
			_ = unix.Close(at)
		}
	}()
	for rest := rel; rest != ""; {
		name, tail, _ := strings.Cut(rest, "/")
		done, rest = Join(done, name), tail
		err := d.before("mkdir", done)
		if err == nil {
			err = ignoreIntr(func() error { return mkdirAt(at, name, perm, d.resolve) })
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fail("make directory", d.abs(done), err)
		}
		next, err := openat2(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, d.resolve)
		if err != nil { // what existed is no directory
			return lookupFail("make directory", d.abs(done), err)
		}
		if at != d.fd {
			_ = unix.Close(at)
		}
		at = next
	}
	return nil
}

// Symlink makes a link with this text, which is not looked at.
func (d *Dir) Symlink(target, rel string) error {
	return d.inParent("make link", "symlink", rel, func(dirfd int, name string) error {
		return unix.Symlinkat(target, dirfd, name)
	})
}

// Mknod makes a special file: mode holds the S_IFMT bits and permissions, dev
// the device number. A character device 0:0 is an overlay whiteout, which needs
// no privilege.
func (d *Dir) Mknod(rel string, mode uint32, dev uint64) error {
	return d.inParent("make node", "mknod", rel, func(dirfd int, name string) error {
		return unix.Mknodat(dirfd, name, mode, int(dev))
	})
}

// Link gives the entry a second name. Of a link, the link itself is linked.
func (d *Dir) Link(rel string, to *Dir, torel string) error {
	return d.twoNames("link", "link", rel, to, torel, func(fd int, name string, tofd int, toname string) error {
		return unix.Linkat(fd, name, tofd, toname, 0)
	})
}

// Rename moves an entry to a name that must be free (RENAME_NOREPLACE): `exists` otherwise.
func (d *Dir) Rename(rel string, to *Dir, torel string) error {
	return d.rename("rename", rel, to, torel, unix.RENAME_NOREPLACE)
}

// Replace moves an entry over whatever has the name, atomically.
func (d *Dir) Replace(rel string, to *Dir, torel string) error {
	return d.rename("replace", rel, to, torel, 0)
}

// Exchange swaps two entries of any kinds, atomically (RENAME_EXCHANGE). It
// never follows or writes through either.
func (d *Dir) Exchange(rel string, to *Dir, torel string) error {
	return d.rename("exchange", rel, to, torel, unix.RENAME_EXCHANGE)
}

func (d *Dir) rename(op, rel string, to *Dir, torel string, flags uint) error {
	return d.twoNames(op, op, rel, to, torel, func(fd int, name string, tofd int, toname string) error {
		return unix.Renameat2(fd, name, tofd, toname, flags)
	})
}

func (d *Dir) twoNames(op, call, rel string, to *Dir, torel string, f func(fd int, name string, tofd int, toname string) error) error {
	p, err := d.parentOf(op, rel)
	if err != nil {
		return err
	}
	defer p.close()
	q, err := to.parentOf(op, torel)
	if err != nil {
		return err
	}
	defer q.close()
	if err := d.before(call, rel); err != nil {
		return fail(op, d.abs(rel), err)
	}
	err = ignoreIntr(func() error { return f(p.fd, p.base, q.fd, q.base) })
	if err == nil {
		return nil
	}
	name := d.abs(rel)
	if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) {
		name = to.abs(torel)
	}
	if errors.Is(err, unix.EXDEV) {
		return &fault.Error{Code: fault.Unsupported, Op: op, Message: show(name) + " and " + show(to.abs(torel)) + " lie on different file systems or layers", Cause: err}
	}
	return fail(op, name, err)
}

// Remove removes one entry: a directory must be empty (else conflict); a link is
// removed itself.
func (d *Dir) Remove(rel string) error {
	return d.inParent("remove", "unlink", rel, removeAt)
}

func removeAt(dirfd int, name string) error {
	err := unix.Unlinkat(dirfd, name, 0)
	if !errors.Is(err, unix.EISDIR) {
		return err
	}
	return unix.Unlinkat(dirfd, name, unix.AT_REMOVEDIR)
}
