package fsop

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"
)

// GetXattr reads one extended attribute of the entry itself; absent is not_found.
func (d *Dir) GetXattr(rel, name string) ([]byte, error) {
	var v []byte
	err := d.onHandle("read attribute", "getxattr", rel, func(path string) (err error) {
		v, err = growing(func(b []byte) (int, error) { return unix.Getxattr(path, name, b) })
		return err
	})
	return v, err
}

// SetXattr sets one extended attribute of the entry itself.
func (d *Dir) SetXattr(rel, name string, v []byte) error {
	return d.onHandle("set attribute", "setxattr", rel, func(path string) error { return unix.Setxattr(path, name, v, 0) })
}

// RemoveXattr removes one extended attribute of the entry itself; absent is not_found.
func (d *Dir) RemoveXattr(rel, name string) error {
	return d.onHandle("remove attribute", "removexattr", rel, func(path string) error { return unix.Removexattr(path, name) })
}

// ListXattr lists the names of the entry's extended attributes; none where the
// file system has no such thing.
func (d *Dir) ListXattr(rel string) ([]string, error) {
	var names []string
	err := d.onHandle("list attributes", "listxattr", rel, func(path string) error {
		b, err := growing(func(b []byte) (int, error) { return unix.Listxattr(path, b) })
		if errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		names = splitNames(b)
		return err
	})
	return names, err
}

// onHandle runs a path call on exactly the looked-up entry: the path is the
// /proc spelling of a handle on it. For a handle on a link that is the link.
func (d *Dir) onHandle(op, call, rel string, f func(path string) error) error {
	h, _, err := d.handle(op, rel)
	if err != nil {
		return err
	}
	defer unix.Close(h)
	if err := d.before(call, rel); err != nil {
		return fail(op, d.abs(rel), err)
	}
	err = ignoreIntr(func() error { return f(procPath(h)) })
	if errors.Is(err, unix.ENODATA) {
		err = unix.ENOENT
	}
	return fail(op, d.abs(rel), err)
}

// growing calls f with buffers of growing size until the value fits.
func growing(f func([]byte) (int, error)) ([]byte, error) {
	buf := make([]byte, 256)
	for {
		n, err := f(buf)
		if errors.Is(err, unix.ERANGE) && len(buf) < 1<<20 {
			buf = make([]byte, 4*len(buf))
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}

func splitNames(b []byte) []string {
	var names []string
	for len(b) > 0 {
		name, rest, _ := bytes.Cut(b, []byte{0})
		if len(name) > 0 {
			names = append(names, string(name))
		}
		b = rest
	}
	return names
}
