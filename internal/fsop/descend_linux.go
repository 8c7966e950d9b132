package fsop

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// keepOpen is how many of the deepest levels a descent holds open. Higher levels
// are closed on the way down and taken again through ".." on the way up, so a
// tree of any depth costs this many descriptors.
const keepOpen = 12

// descent is one walk down and up a tree by held descriptors.
type descent struct {
	dir    *Dir
	levels []level
	path   []byte // of the present directory, relative to dir; empty = the start is dir itself
}

type level struct {
	fd      int // -1 while closed
	id      Identity
	pathLen int // len(path) of the level above
}

// descend starts at rel, which must be a directory.
func (d *Dir) descend(op, rel string) (*descent, error) {
	fd, err := d.open(op, rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	info, err := statFD(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fail(op, d.abs(rel), err)
	}
	t := &descent{dir: d, levels: []level{{fd: fd, id: info.Identity()}}}
	if rel != "." {
		t.path = append(t.path, rel...)
	}
	return t, nil
}

// fd is the present directory, open for reading.
func (t *descent) fd() int { return t.levels[len(t.levels)-1].fd }

// depth is 0 at the start.
func (t *descent) depth() int { return len(t.levels) - 1 }

// join spells a name in the present directory, relative to the Dir.
func (t *descent) join(name string) string {
	if len(t.path) == 0 {
		return name
	}
	return string(t.path) + "/" + name
}

// here spells the present directory.
func (t *descent) here() string {
	if len(t.path) == 0 {
		return "."
	}
	return string(t.path)
}

// enter goes into a directory of the present one, on the same mount. It returns bare errnos.
func (t *descent) enter(name string, crossMounts bool) error {
	resolve := t.dir.resolve
	if !crossMounts {
		resolve |= unix.RESOLVE_NO_XDEV
	}
	if t.dir.intercept != nil {
		if err := t.dir.before("openat", t.join(name)); err != nil {
			return err
		}
	}
	fd, err := openat2(t.fd(), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, resolve)
	if err != nil {
		return err
	}
	info, err := statFD(fd)
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	t.levels = append(t.levels, level{fd: fd, id: info.Identity(), pathLen: len(t.path)})
	if len(t.path) > 0 {
		t.path = append(t.path, '/')
	}
	t.path = append(t.path, name...)
	if i := len(t.levels) - 1 - keepOpen; i >= 0 && t.levels[i].fd >= 0 {
		_ = unix.Close(t.levels[i].fd)
		t.levels[i].fd = -1
	}
	return nil
}

// leave goes back up.
func (t *descent) leave() error {
	if err := t.openUp(); err != nil {
		return err
	}
	top := t.levels[len(t.levels)-1]
	_ = unix.Close(top.fd)
	t.path = t.path[:top.pathLen]
	t.levels = t.levels[:len(t.levels)-1]
	return nil
}

// openUp makes sure that the level above is open. One that was closed is taken
// through ".." and must be the directory it was: a tree that was moved meanwhile
// is identity_changed.
func (t *descent) openUp() error {
	top, up := t.levels[len(t.levels)-1], &t.levels[len(t.levels)-2]
	if up.fd >= 0 {
		return nil
	}
	fd, err := retryIntr(func() (int, error) {
		return unix.Openat(top.fd, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return fail("go up", t.dir.abs(t.here()), err)
	}
	info, err := statFD(fd)
	if err == nil && info.Identity() != up.id {
		err = fault.New(fault.IdentityChanged, "go up", "%s was moved while its tree was being walked", show(t.dir.abs(t.here())))
	}
	if err != nil {
		_ = unix.Close(fd)
		return fail("go up", t.dir.abs(t.here()), err)
	}
	up.fd = fd
	return nil
}

func (t *descent) close() {
	for _, l := range t.levels {
		if l.fd >= 0 {
			_ = unix.Close(l.fd)
		}
	}
	t.levels = nil
}

// crossesMount reports the errno of a lookup that met a mount point.
func crossesMount(err error) bool { return errors.Is(err, unix.EXDEV) }
