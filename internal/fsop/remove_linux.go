package fsop

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// maxPasses bounds how often one directory is read from its start again: who
// fills it as fast as it is emptied does not hold us for ever.
const maxPasses = 64

// maxPending bounds how many names of full directories are kept per level.
const maxPending = 1024

// RemoveAll removes an entry and everything below it; "." empties the directory.
// Absent is nil. It works bottom-up by held descriptors, with a constant number
// of them at any depth; it follows no link, enters no other mount (a mount point
// below is a conflict, its path named, what it holds untouched) and gives itself
// rwx on directories of the tree that lack it. It stops at the first entry that
// cannot be removed.
func (d *Dir) RemoveAll(rel string) error {
	if rel != "." {
		err := d.Remove(rel)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		default:
			return err
		}
	}
	t, err := d.descend("remove", rel)
	if errors.Is(err, unix.EACCES) && rel != "." { // closed to us; if it is ours, open it
		if err := d.Chmod(rel, 0o700); err != nil {
			return err
		}
		t, err = d.descend("remove", rel)
	}
	if err != nil {
		return err
	}
	r := &remover{t: t, keepStart: rel == "."}
	err = r.run()
	if r.relock != nil {
		r.relock()
	}
	t.close()
	if err != nil || rel == "." {
		return err
	}
	err = d.Remove(rel)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

type remover struct {
	t         *descent
	levels    []removing
	keepStart bool   // the start directory stays, with its mode
	relock    func() // gives the start directory its mode back
}

// removing is what is left to do at one level.
type removing struct {
	name   string   // in the level above
	dirs   []string // directories seen that were not empty
	passes int      // how often the directory was read to its end
	opened bool     // rwx was already given
}

func (r *remover) run() error {
	r.levels = append(r.levels, removing{})
	bp, _ := direntPool.Get().(*[]byte)
	defer direntPool.Put(bp)
	for len(r.levels) > 0 {
		top := &r.levels[len(r.levels)-1]
		if n := len(top.dirs); n > 0 {
			name := top.dirs[n-1]
			top.dirs = top.dirs[:n-1]
			if err := r.enter(name); err != nil {
				return err
			}
			continue
		}
		empty, err := r.sweep(top, *bp)
		if err != nil {
			return err
		}
		if empty && len(top.dirs) == 0 {
			if err := r.leave(); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep removes what it can of the present directory, collects the directories
// that are not empty, and reports whether a whole pass found nothing.
func (r *remover) sweep(top *removing, buf []byte) (empty bool, err error) {
	if top.passes > maxPasses {
		return false, fault.New(fault.Conflict, "remove", "%s is being filled while it is emptied", show(r.t.dir.abs(r.t.here()))).
			WithHint("stop what writes there and try again")
	}
	if _, err := unix.Seek(r.t.fd(), 0, unix.SEEK_SET); err != nil {
		return false, r.fail(".", err)
	}
	empty = true
	var entries []Entry
	more := true
	for more && len(top.dirs) < maxPending {
		if entries, more, err = readSome(r.t.fd(), buf, entries[:0]); err != nil {
			return false, r.fail(".", err)
		}
		for _, e := range entries {
			empty = false
			full, err := r.removeOne(top, e)
			if err != nil {
				return false, err
			}
			if full {
				top.dirs = append(top.dirs, e.Name)
			}
		}
	}
	if !more {
		top.passes++
	}
	return empty && !more, nil
}

// removeOne removes an entry unless it is a directory that is not empty.
func (r *remover) removeOne(top *removing, e Entry) (full bool, err error) {
	for {
		if r.t.dir.intercept != nil {
			if err := r.t.dir.before("unlink", r.t.join(e.Name)); err != nil {
				return false, r.fail(e.Name, err)
			}
		}
		if e.Kind == KindDir {
			err = unix.Unlinkat(r.t.fd(), e.Name, unix.AT_REMOVEDIR)
		} else {
			err = unix.Unlinkat(r.t.fd(), e.Name, 0)
		}
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			return false, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
			return true, nil
		case errors.Is(err, unix.EISDIR) && e.Kind != KindDir:
			e.Kind = KindDir
		case errors.Is(err, unix.ENOTDIR) && e.Kind == KindDir:
			e.Kind = KindFile
		case errors.Is(err, unix.EACCES) && !top.opened:
			top.opened = true
			undo, cerr := r.unlock()
			if cerr != nil {
				return false, r.fail(e.Name, err)
			}
			if r.keepStart && r.t.depth() == 0 {
				r.relock = undo
			}
		case errors.Is(err, unix.EBUSY):
			return false, r.mountPoint(e.Name, err)
		default:
			return false, r.fail(e.Name, err)
		}
	}
}

// unlock gives us rwx on the present directory.
func (r *remover) unlock() (undo func(), err error) {
	fd := r.t.fd()
	info, err := statFD(fd)
	if err != nil {
		return nil, err
	}
	if err := chmodFD(fd, 0o700); err != nil {
		return nil, err
	}
	return func() { _ = r.t.dir.Chmod(".", info.Mode) }, nil
}

func (r *remover) enter(name string) error {
	err := r.t.enter(name, false)
	if errors.Is(err, unix.EACCES) {
		// Closed to us; if it is ours, open it, through a handle on exactly it.
		h, herr := openat2(r.t.fd(), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, r.t.dir.resolve|unix.RESOLVE_NO_XDEV)
		if herr != nil {
			return r.fail(name, herr)
		}
		cerr := chmodFD(h, 0o700)
		_ = unix.Close(h)
		if cerr != nil {
			return r.fail(name, err)
		}
		err = r.t.enter(name, false)
	}
	switch {
	case err == nil:
		r.levels = append(r.levels, removing{name: name})
		return nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil // gone or exchanged: the next pass sees what is there now
	case crossesMount(err):
		return r.mountPoint(name, err)
	}
	return r.fail(name, err)
}

// leave goes up and removes the directory just emptied.
func (r *remover) leave() error {
	name := r.levels[len(r.levels)-1].name
	r.levels = r.levels[:len(r.levels)-1]
	if len(r.levels) == 0 {
		return nil
	}
	if err := r.t.leave(); err != nil {
		return err
	}
	full, err := r.removeOne(&r.levels[len(r.levels)-1], Entry{Name: name, Kind: KindDir})
	if full { // something was put into it meanwhile
		top := &r.levels[len(r.levels)-1]
		if top.passes++; top.passes > maxPasses {
			return r.fail(name, unix.ENOTEMPTY)
		}
		top.dirs = append(top.dirs, name)
	}
	return err
}

func (r *remover) fail(name string, err error) error {
	path := r.t.here()
	if name != "." {
		path = r.t.join(name)
	}
	return lookupFail("remove", r.t.dir.abs(path), err)
}

func (r *remover) mountPoint(name string, err error) error {
	return &fault.Error{
		Code: fault.Conflict, Op: "remove", Message: show(r.t.dir.abs(r.t.join(name))) + " is a mount point",
		Hint: "unmount it first", Cause: err,
	}
}
