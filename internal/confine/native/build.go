//go:build linux

package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
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
