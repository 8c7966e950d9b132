//go:build linux

package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/internal/confine/view"
	"golang.org/x/sys/unix"
)

// apply carries out one op.
func (r *root) apply(op view.Op) error {
	switch op.Kind {
	case view.KindBind:
		src, err := openHost(op.Source)
		if err != nil {
			return err
		}
		defer unix.Close(src)
		return r.bind(src, op.Target, op.ReadOnly, op.Private)
	case view.KindOverlay:
		return r.overlay(op)
	case view.KindAlias:
		return r.alias(op)
	case view.KindTmpfs:
		return r.private(op.Target, op.Mode, op.Private)
	case view.KindDir:
		at, err := r.mkdirAll(op.Target, op.Mode, op.Private)
		if err != nil {
			return err
		}
		return unix.Close(at)
	case view.KindLink:
		return r.link(op)
	case view.KindFile:
		return r.file(op)
	case view.KindMask:
		return r.mask(op)
	}
	return fmt.Errorf("unknown kind %q", op.Kind)
}

// alias shows a mount of the inside at a further path. A path that already leads
// there, through a link that shows inside, needs nothing.
func (r *root) alias(op view.Op) error {
	src, err := r.handle(op.Source)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	if at, err := unix.Openat2(r.fd, rel(op.Target), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}); err == nil {
		same := sameObject(src, at)
		unix.Close(at)
		if same {
			return nil
		}
	}
	return r.bind(src, op.Target, op.ReadOnly, op.Private)
}

// sameObject reports whether two handles are the same mount's same object.
func sameObject(a, b int) bool {
	var x, y unix.Statx_t
	const mask = unix.STATX_INO | unix.STATX_MNT_ID
	return unix.Statx(a, "", unix.AT_EMPTY_PATH, mask, &x) == nil && unix.Statx(b, "", unix.AT_EMPTY_PATH, mask, &y) == nil &&
		x.Ino == y.Ino && x.Dev_major == y.Dev_major && x.Dev_minor == y.Dev_minor && x.Mnt_id == y.Mnt_id
}

// private makes an empty private folder. All of them are folders of one file
// system in memory, since making and ending each costs more than all the rest of
// a mount.
func (r *root) private(target string, mode uint32, aside bool) error {
	if r.scratch == 0 {
		at, err := r.mkdirAll(insideScratch, 0o700, false)
		if err != nil {
			return err
		}
		err = mountAt(at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700")
		unix.Close(at)
		if err != nil {
			return fmt.Errorf("mount private folders: %w", err)
		}
		if r.scratch, err = r.handle(insideScratch); err != nil {
			return err
		}
	}
	name := strconv.Itoa(r.privates)
	r.privates++
	if err := unix.Mkdirat(r.scratch, name, mode); err != nil {
		return err
	}
	dir, err := openBeneath(r.scratch, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := unix.Fchmodat(unix.AT_FDCWD, fdPath(dir), mode, 0); err != nil { // whatever the umask
		return err
	}
	return r.bind(dir, target, false, aside)
}

// overlay mounts an overlay. Layers go by descriptor: that binds what was
// checked, keeps host paths out of /proc/mounts inside, and needs no escaping of
// commas and colons.
func (r *root) overlay(op view.Op) error {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	open := func(p string) (string, error) {
		fd, err := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", &fs.PathError{Op: "open layer", Path: p, Err: err}
		}
		fds = append(fds, fd)
		return fdPath(fd), nil
	}
	lower := make([]string, len(op.Lower))
	for i, l := range op.Lower {
		p, err := open(l)
		if err != nil {
			return err
		}
		lower[i] = p
	}
	// index=off: a stacked upper meets another lower than at its first mount.
	options := "userxattr,index=off,lowerdir=" + strings.Join(lower, ":")
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if op.Upper != "" {
		upper, err := open(op.Upper)
		if err != nil {
			return err
		}
		work, err := open(op.Work)
		if err != nil {
			return err
		}
		options += ",upperdir=" + upper + ",workdir=" + work
	}
	if op.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	if len(options) >= os.Getpagesize() {
		return fmt.Errorf("%d layers are more than one mount can name", len(op.Lower))
	}
	at, err := r.mkdirAll(op.Target, 0o755, op.Private)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := mountAt(at, "overlay", flags, options); err != nil {
		return &overlayError{op: op, err: err}
	}
	return nil
}

// link makes a symbolic link unless the same one is there.
func (r *root) link(op view.Op) error {
	parent, err := r.mkdirAll(path.Dir(op.Target), 0o755, op.Private)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	err = unix.Symlinkat(op.Text, parent, path.Base(op.Target))
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// file writes a new regular file. One that exists stays: inside, it may have
// been changed on purpose. A read-only one is made among our own things and
// bound over what is there.
func (r *root) file(op view.Op) error {
	if op.ReadOnly {
		own := op
		own.Target, own.ReadOnly, own.Private = fmt.Sprintf("%s/file-%d", insideDir, r.files), false, false
		r.files++
		if err := r.file(own); err != nil {
			return err
		}
		src, err := r.handle(own.Target)
		if err != nil {
			return err
		}
		defer unix.Close(src)
		return r.bind(src, op.Target, true, op.Private)
	}
	parent, err := r.mkdirAll(path.Dir(op.Target), 0o755, op.Private)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	fd, err := unix.Openat(parent, path.Base(op.Target),
		unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, op.Mode)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), op.Target)
	_, err = f.WriteString(op.Text)
	return errors.Join(err, f.Close())
}

// mask hides what is at the target. What is not there needs no mask; neither
// does a link, whose target has a mask of its own if it needs one.
func (r *root) mask(op view.Op) error {
	at, err := r.handle(op.Target)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	mask := insideEmpty
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		mask = insideVoid
	}
	src, err := r.handle(mask)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	tree, err := cloneTree(src)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := setReadOnly(tree); err != nil {
		return err
	}
	return attach(tree, at)
}
