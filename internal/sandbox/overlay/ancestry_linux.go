package overlay

import (
	"fmt"

	"golang.org/x/sys/unix"
)

type devIno struct{ dev, ino uint64 }

func statFD(fd int) (devIno, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return devIno{}, err
	}
	return devIno{st.Dev, st.Ino}, nil
}

// ancestry lists the identities of a directory and of all directories above it.
func ancestry(path string) ([]devIno, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var out []devIno
	for {
		id, err := statFD(fd)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		if n := len(out); n > 0 && out[n-1] == id {
			return out, nil // the parent of the root is the root
		}
		out = append(out, id)
		up, err := unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("climb from %s: %w", path, err)
		}
		_ = unix.Close(fd)
		fd = up
	}
}

// liesWithin reports whether inner is outer or lies below it: by identity of
// every directory above it, and by place in the file system where a part of
// outer is mounted a second time elsewhere.
func liesWithin(mounts []mountPoint, outer, inner string) (bool, error) {
	above, err := ancestry(inner)
	if err != nil {
		return false, err
	}
	top, err := ancestry(outer)
	if err != nil {
		return false, err
	}
	for _, id := range above {
		if id == top[0] {
			return true, nil
		}
	}
	o, i := placeOf(mounts, outer), placeOf(mounts, inner)
	return o.device == i.device && inside(o.path, i.path), nil
}
