//go:build linux

package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/view"
	"golang.org/x/sys/unix"
)

// Where our own things lie inside. /run/ambit is part of the new root, which is
// read-only: commands cannot replace it.
const (
	insideDir   = "/run/ambit"
	insideExe   = "/run/ambit/ambit"
	insideEmpty = "/run/ambit/empty" // an empty file, for masks
	insideVoid  = "/run/ambit/void"  // an empty folder, for masks
	// insideScratch holds all private folders while the root is made.
	insideScratch = "/run/ambit/scratch"
)

// setup is what the outer process sends to the inner one.
type setup struct {
	Layout   view.Layout `json:"layout"`
	Sabotage []string    `json:"sabotage,omitempty"`
}

// note travels from the inner process to each entry.
type note struct {
	Flags    uint32   `json:"f"` // for landlock_restrict_self
	Sabotage []string `json:"s,omitempty"`
}

// build makes the inside: a new root with the layout's mounts. It runs in the
// inner process, which owns all the namespaces, before any command.
func build(raw json.RawMessage) (holder.Inside, error) {
	var s setup
	if err := json.Unmarshal(raw, &s); err != nil {
		return holder.Inside{}, fault.Wrap(fault.Internal, "build confinement", err)
	}
	in, err := buildLayout(s)
	if err != nil {
		return holder.Inside{}, explain(err)
	}
	return in, nil
}

func buildLayout(s setup) (holder.Inside, error) {
	var none holder.Inside
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return none, fmt.Errorf("make mounts private: %w", err)
	}
	exe, err := ownExecutable()
	if err != nil {
		return none, err
	}
	defer unix.Close(exe)
	r, err := newRoot(s.Layout.Scratch)
	if err != nil {
		return none, err
	}
	if err := r.base(exe); err != nil {
		return none, err
	}
	for _, op := range s.Layout.Ops {
		if err := r.apply(op); err != nil {
			if op.Optional {
				r.notices = append(r.notices, fmt.Sprintf("%s %s: %v", op.Kind, op.Target, err))
				continue
			}
			return none, fmt.Errorf("%s %s: %w", op.Kind, op.Target, err)
		}
	}
	if err := r.become(); err != nil {
		return none, err
	}
	if err := forbidUserNamespaces(s.Sabotage); err != nil {
		return none, err
	}
	if !s.Layout.HostNet && !slices.Contains(s.Sabotage, weakLoopback) {
		if err := raiseLoopback(); err != nil {
			return none, err
		}
	}
	in := holder.Inside{Notices: r.notices}
	n := note{Sabotage: s.Sabotage}
	// Made once, for all entries: the rules bind to the objects as they are now,
	// before any command could exchange a folder for a link.
	rules, err := domain.New(domain.Paths{Read: []string{"/"}, Write: append(s.Layout.Writable, "/dev")})
	switch {
	case n.weakened(weakLandlock):
	case err == nil:
		in.Files, n.Flags = []*os.File{rules.File}, rules.Flags
	case !errors.Is(err, domain.ErrNone):
		return none, err
	default:
		in.Notices = append(in.Notices, "this kernel has no usable Landlock: the namespaces stand alone")
	}
	in.Note, err = json.Marshal(n)
	return in, err
}

// ownExecutable opens the running binary through this namespace's mounts: the
// one /proc/self/exe leads to is the host's, which cannot be bound here.
func ownExecutable() (int, error) {
	p, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return -1, err
	}
	fd, err := openHost(strings.TrimSuffix(p, " (deleted)"))
	if err != nil {
		return -1, err
	}
	var a, b unix.Stat_t
	if err := errors.Join(unix.Stat("/proc/self/exe", &a), unix.Fstat(fd, &b)); err != nil || a.Dev != b.Dev || a.Ino != b.Ino {
		unix.Close(fd)
		return -1, errors.Join(fault.New(fault.Stale, "build confinement", "the ambit binary was replaced while it ran").
			WithHint("run the command again"), err)
	}
	return fd, nil
}

// newRoot mounts an empty file system on the scratch folder.
func newRoot(scratch string) (*root, error) {
	if err := unix.Mount("tmpfs", scratch, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m"); err != nil {
		return nil, fmt.Errorf("mount new root: %w", err)
	}
	fd, err := unix.Open(scratch, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open new root: %w", err)
	}
	return &root{fd: fd}, nil
}

// base makes what every inside has: proc, dev, and our own folder.
func (r *root) base(exe int) error {
	if err := r.proc(); err != nil {
		return err
	}
	if err := r.devices(); err != nil {
		return err
	}
	d, err := r.mkdirAll(insideVoid, 0o555, false)
	if err != nil {
		return err
	}
	unix.Close(d)
	if err := r.bind(exe, insideExe, true, false); err != nil {
		return err
	}
	f, err := r.mountPoint(insideEmpty, false, false)
	if err != nil {
		return err
	}
	return unix.Close(f)
}

// proc mounts the proc of the holder's pid namespace. Entries get their own.
func (r *root) proc() error {
	at, err := r.mkdirAll("/proc", 0o555, false)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := mountAt(at, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount proc: %w", err)
	}
	return nil
}

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

// become makes the new root the root, lets go of the old one for good, and makes
// the root itself read-only.
func (r *root) become() error {
	if r.scratch != 0 {
		// The folders stay where they are bound; nobody needs the whole any more.
		if err := unix.Unmount(fdPath(r.scratch), unix.MNT_DETACH); err != nil {
			return fmt.Errorf("let go of private folders: %w", err)
		}
		unix.Close(r.scratch)
	}
	if err := unix.Fchdir(r.fd); err != nil {
		return fmt.Errorf("enter new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}
	// The old root now lies over the new one; detaching it uncovers ours.
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the host's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter new root: %w", err)
	}
	unix.Close(r.fd)
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open new root: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make new root read-only: %w", err)
	}
	return nil
}
