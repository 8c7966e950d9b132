package fsop

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// Chmod sets the mode (07777) of the entry itself, through a handle on it. A
// link has no mode of its own: invalid.
func (d *Dir) Chmod(rel string, mode uint32) error {
	h, info, err := d.handle("change mode", rel)
	if err != nil {
		return err
	}
	defer unix.Close(h)
	if info.Kind == KindSymlink {
		return fault.New(fault.Invalid, "change mode", "%s is a link", show(d.abs(rel))).WithCause(unix.ELOOP)
	}
	if err := d.before("chmod", rel); err != nil {
		return fail("change mode", d.abs(rel), err)
	}
	return fail("change mode", d.abs(rel), chmodFD(h, mode))
}

// chmodFD changes the mode behind a descriptor that may be O_PATH, for which
// fchmod is EBADF: fchmodat2 (Linux 6.6), else through /proc.
func chmodFD(h int, mode uint32) error {
	err := ignoreIntr(func() error { return unix.Fchmodat(h, "", mode&0o7777, unix.AT_EMPTY_PATH) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return ignoreIntr(func() error { return unix.Chmod(procPath(h), mode&0o7777) })
	}
	return err
}

// Chown sets owner and group of the entry itself; -1 leaves one as it is.
func (d *Dir) Chown(rel string, uid, gid int) error {
	h, _, err := d.handle("change owner", rel)
	if err != nil {
		return err
	}
	defer unix.Close(h)
	if err := d.before("chown", rel); err != nil {
		return fail("change owner", d.abs(rel), err)
	}
	return fail("change owner", d.abs(rel), chownFD(h, uid, gid))
}

func chownFD(h, uid, gid int) error {
	return ignoreIntr(func() error { return unix.Fchownat(h, "", uid, gid, unix.AT_EMPTY_PATH) })
}

// Chtimes sets the modification time of the entry itself, to the nanosecond; the
// access time stays.
func (d *Dir) Chtimes(rel string, mtime time.Time) error {
	h, _, err := d.handle("change times", rel)
	if err != nil {
		return err
	}
	defer unix.Close(h)
	if err := d.before("utimens", rel); err != nil {
		return fail("change times", d.abs(rel), err)
	}
	return fail("change times", d.abs(rel), utimesFD(h, mtime))
}

func utimesFD(h int, mtime time.Time) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: mtime.Unix(), Nsec: int64(mtime.Nanosecond())}}
	return ignoreIntr(func() error { return unix.UtimesNanoAt(h, "", ts, unix.AT_EMPTY_PATH) })
}

// Writable reports whether entries of the directory rel can be made, renamed and
// removed by this process, as far as permissions say; a read-only file system
// says no. It asks for the effective ids.
func (d *Dir) Writable(rel string) (bool, error) {
	h, _, err := d.handle("check access", rel)
	if err != nil {
		return false, err
	}
	defer unix.Close(h)
	if err := d.before("faccessat", rel); err != nil {
		return false, fail("check access", d.abs(rel), err)
	}
	err = ignoreIntr(func() error {
		return unix.Faccessat2(h, "", unix.W_OK|unix.X_OK, unix.AT_EMPTY_PATH|unix.AT_EACCESS)
	})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS), errors.Is(err, unix.EPERM):
		return false, nil
	}
	return false, fail("check access", d.abs(rel), err)
}
