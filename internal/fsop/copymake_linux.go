package fsop

import (
	"errors"

	"golang.org/x/sys/unix"
)

// makeDir makes or takes over the destination directory and enters it.
func (w *treeWalk) makeDir(name, path string) error {
	t := w.t
	if err := t.to.dir.before("mkdir", t.dstPath(path)); err != nil {
		return fail("copy tree", t.to.dir.abs(t.dstPath(path)), err)
	}
	err := unix.Mkdirat(t.to.fd(), name, 0o700)
	if errors.Is(err, unix.EEXIST) {
		var old Info
		if old, err = statName(t.to.fd(), name); err == nil {
			switch {
			case old.Kind != KindDir:
				if err = unix.Unlinkat(t.to.fd(), name, 0); err == nil {
					err = unix.Mkdirat(t.to.fd(), name, 0o700)
				}
			case old.Mode&0o700 != 0o700:
				var h int
				if h, err = openat2(t.to.fd(), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, t.to.dir.resolve); err == nil {
					err = chmodFD(h, old.Mode|0o700)
					_ = unix.Close(h)
				}
			}
		}
	}
	if err == nil {
		err = t.to.enter(name, false)
	}
	if err != nil {
		return lookupFail("copy tree", t.to.dir.abs(t.dstPath(path)), err)
	}
	return nil
}

// link copies a symbolic link, its owner and time.
func (w *treeWalk) link(name, path string, info Info) error {
	t := w.t
	text, err := readlinkFD(t.from.fd(), name)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		t.skip(path, "vanished")
		return nil
	}
	if err != nil {
		return t.unreadable(path, err)
	}
	if err := t.to.dir.before("symlink", t.dstPath(path)); err != nil {
		return fail("copy tree", t.to.dir.abs(t.dstPath(path)), err)
	}
	err = unix.Symlinkat(text, t.to.fd(), name)
	if errors.Is(err, unix.EEXIST) {
		if err = t.clear(t.to.fd(), name); err == nil {
			err = unix.Symlinkat(text, t.to.fd(), name)
		}
	}
	if err != nil {
		return fail("copy tree", t.to.dir.abs(t.dstPath(path)), err)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(t.to.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fail("copy tree", t.to.dir.abs(t.dstPath(path)), err)
	}
	if st.Uid != info.UID || st.Gid != info.GID {
		if unix.Fchownat(t.to.fd(), name, int(info.UID), int(info.GID), unix.AT_SYMLINK_NOFOLLOW) != nil {
			t.lost(path, []string{"owner"})
		}
	}
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: info.Mtime.Unix(), Nsec: int64(info.Mtime.Nanosecond())}}
	if err := unix.UtimesNanoAt(t.to.fd(), name, ts, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fail("copy tree", t.to.dir.abs(t.dstPath(path)), err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Links++
	if t.opts.Entry != nil {
		t.opts.Entry(path, info, "", false)
	}
	return nil
}
