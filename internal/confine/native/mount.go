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

	"golang.org/x/sys/unix"
)

// beneath resolves a path inside the new root without following any link:
// parts of it are written by commands, and a link there must not lead a mount
// elsewhere (V37).
const beneath = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// fdPath names a descriptor for calls that only take paths.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// root is the new root while it is being made.
type root struct {
	fd       int
	files    int // read-only files made so far
	scratch  int // handle of the file system that all private folders share; 0 before the first
	privates int // private folders made so far
	notices  []string
}

// rel turns an absolute inside path into one relative to the root.
func rel(p string) string {
	if p = strings.TrimPrefix(path.Clean(p), "/"); p != "" {
		return p
	}
	return "."
}

// open opens an inside path as a handle.
func (r *root) open(p string, flags uint64) (int, error) {
	fd, err := unix.Openat2(r.fd, rel(p), &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: beneath})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return fd, nil
}

// handle opens an inside path without rights to its content.
func (r *root) handle(p string) (int, error) { return r.open(p, unix.O_PATH|unix.O_NOFOLLOW) }

// mkdirAll makes a folder and those above it and returns a handle of it. With
// aside, what is no folder on the way is renamed out of the way.
func (r *root) mkdirAll(p string, mode uint32, aside bool) (int, error) {
	fd, err := r.open("/", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	for part := range strings.SplitSeq(rel(p), "/") {
		next, err := r.step(fd, part, mode, aside)
		unix.Close(fd)
		if err != nil {
			return -1, &fs.PathError{Op: "make folder", Path: p, Err: err}
		}
		fd = next
	}
	return fd, nil
}

// step enters one component, making it when it is missing.
func (r *root) step(dir int, name string, mode uint32, aside bool) (int, error) {
	for range 3 {
		fd, err := openBeneath(dir, name, unix.O_PATH|unix.O_DIRECTORY)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.ENOENT):
			if err := unix.Mkdirat(dir, name, mode); err != nil && !errors.Is(err, unix.EEXIST) {
				return -1, err
			}
		case aside && (errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR)):
			if err := moveAside(dir, name); err != nil {
				return -1, err
			}
			r.notices = append(r.notices, fmt.Sprintf("%q in the private home stood where a folder is needed and was moved aside", name))
		default:
			return -1, err
		}
	}
	return -1, unix.ELOOP
}

// openBeneath opens one component below dir.
func openBeneath(dir int, name string, flags uint64) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   flags | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// moveAside renames an entry to a name that is free.
func moveAside(dir int, name string) error {
	for i := range 1000 {
		err := unix.Renameat2(dir, name, dir, fmt.Sprintf("%s.displaced-%d", name, i), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return unix.EEXIST
}

// mountPoint returns a handle of the place where a mount goes: a folder or a
// file, made if it is missing.
func (r *root) mountPoint(p string, dir, aside bool) (int, error) {
	if dir {
		return r.mkdirAll(p, 0o755, aside)
	}
	parent, err := r.mkdirAll(path.Dir(p), 0o755, aside)
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	name := path.Base(p)
	for range 3 {
		fd, err := openBeneath(parent, name, unix.O_PATH)
		if err == nil {
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				unix.Close(fd)
				return -1, err
			}
			if st.Mode&unix.S_IFMT == unix.S_IFREG || st.Mode&unix.S_IFMT == unix.S_IFSOCK {
				return fd, nil
			}
			unix.Close(fd)
			err = unix.ENOTDIR
			if !aside {
				return -1, &fs.PathError{Op: "mount on", Path: p, Err: err}
			}
		}
		switch {
		case errors.Is(err, unix.ENOENT):
			f, err := unix.Openat(parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
			if err != nil {
				return -1, &fs.PathError{Op: "make mount point", Path: p, Err: err}
			}
			unix.Close(f)
		case aside:
			if err := moveAside(parent, name); err != nil {
				return -1, &fs.PathError{Op: "make mount point", Path: p, Err: err}
			}
		default:
			return -1, &fs.PathError{Op: "mount on", Path: p, Err: err}
		}
	}
	return -1, &fs.PathError{Op: "mount on", Path: p, Err: unix.ELOOP}
}

// attach moves a detached mount to a handle.
func attach(tree, at int) error {
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// cloneTree makes a detached copy of the mount at a handle and all below it.
func cloneTree(fd int) (int, error) {
	return unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
}

// setReadOnly makes a mount and all below it read-only, without set-user-id
// programs and devices.
func setReadOnly(tree int) error {
	return unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
	})
}

// bind mounts the object behind source at an inside path.
func (r *root) bind(source int, target string, readOnly, aside bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(source, &st); err != nil {
		return err
	}
	tree, err := cloneTree(source)
	if err != nil {
		return fmt.Errorf("clone mount for %s: %w", target, err)
	}
	defer unix.Close(tree)
	if readOnly {
		if err := setReadOnly(tree); err != nil {
			return fmt.Errorf("make %s read-only: %w", target, err)
		}
	}
	at, err := r.mountPoint(target, st.Mode&unix.S_IFMT == unix.S_IFDIR, aside)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := attach(tree, at); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// mountAt makes a mount of its own at a handle.
func mountAt(at int, fstype string, flags uintptr, options string) error {
	return unix.Mount(fstype, fdPath(at), fstype, flags, options)
}

// openHost opens a host path as a handle; links are followed.
func openHost(p string) (int, error) {
	fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: p, Err: err}
	}
	return fd, nil
}
