package fsop

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
)

type xattr struct {
	name  string
	value []byte
}

// readXattrs reads those attributes behind an open descriptor that travel with a
// file, and names those that would be lost.
func readXattrs(fd int, skip func(string) bool) (attrs []xattr, lost []string, err error) {
	list := func(b []byte) (int, error) { return unix.Flistxattr(fd, b) }
	var first [128]byte
	n, err := list(first[:])
	var names []string
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), err == nil && n == 0:
		return nil, nil, nil
	case err == nil:
		names = splitNames(first[:n])
	case errors.Is(err, unix.ERANGE):
		b, err := growing(list)
		if err != nil {
			return nil, nil, err
		}
		names = splitNames(b)
	default:
		return nil, nil, err
	}
	for _, name := range names {
		if skip != nil && skip(name) {
			continue
		}
		switch {
		case strings.HasPrefix(name, "user."), name == aclAccess, name == aclDefault:
		case name == "security.capability", strings.HasPrefix(name, "trusted."):
			lost = append(lost, name)
			continue
		default: // labels that the destination's own policy gives
			continue
		}
		v, err := growing(func(b []byte) (int, error) { return unix.Fgetxattr(fd, name, b) })
		switch {
		case errors.Is(err, unix.ENODATA):
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
			lost = append(lost, name)
		case err != nil:
			return nil, nil, err
		default:
			attrs = append(attrs, xattr{name, v})
		}
	}
	return attrs, lost, nil
}

// setMeta gives an open file or directory the source's owner, mode, attributes
// and, last, time. What the destination cannot take is returned, not an error.
func (c *copier) setMeta(dst int, info Info, attrs []xattr) (lost []string, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(dst, &st); err != nil {
		return nil, err
	}
	mode := info.Mode
	if c.opts.DropSetuid && info.Kind == KindFile {
		mode &^= unix.S_ISUID | unix.S_ISGID
	}
	if st.Uid != info.UID || st.Gid != info.GID {
		kept := mode
		if unix.Fchown(dst, int(info.UID), int(info.GID)) != nil {
			lost = append(lost, "owner")
			gidKept := unix.Fchown(dst, -1, int(info.GID)) == nil
			if info.Kind == KindFile { // never a privilege of somebody else's
				if st.Uid != info.UID {
					mode &^= unix.S_ISUID
				}
				if !gidKept {
					mode &^= unix.S_ISGID
				}
			}
		}
		if mode != kept {
			lost = append(lost, "setuid")
		}
	}
	// User attributes want a writable inode, so they come before the mode; ACLs
	// are a finer form of the mode, so they come after it.
	set := func(acls bool) error {
		for _, a := range attrs {
			if acls != (a.name == aclAccess || a.name == aclDefault) {
				continue
			}
			if err := unix.Fsetxattr(dst, a.name, a.value, 0); err != nil {
				if errors.Is(err, unix.EIO) {
					return err
				}
				lost = append(lost, a.name)
			}
		}
		return nil
	}
	if err := set(false); err != nil {
		return lost, err
	}
	if err := ignoreIntr(func() error { return unix.Fchmod(dst, mode) }); err != nil {
		return lost, err
	}
	if err := set(true); err != nil {
		return lost, err
	}
	if c.stripACL {
		for _, name := range []string{aclAccess, aclDefault} {
			if !slices.ContainsFunc(attrs, func(a xattr) bool { return a.name == name }) {
				_ = unix.Fremovexattr(dst, name)
			}
		}
	}
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: info.Mtime.Unix(), Nsec: int64(info.Mtime.Nanosecond())}}
	return lost, ignoreIntr(func() error { return futimens(dst, ts) })
}

func futimens(fd int, ts []unix.Timespec) error {
	return unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH)
}

// hasDefaultACL reports whether what is made in this directory inherits an ACL.
func hasDefaultACL(dirfd int) bool {
	n, err := unix.Getxattr(procPath(dirfd), aclDefault, nil)
	return err == nil && n > 0
}
