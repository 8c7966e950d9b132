//go:build linux

package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/privilege"
	"github.com/ambit-run/ambit/internal/confine/syscallfilter"
	"golang.org/x/sys/unix"
)

// entryAttr clones an entry process into pid and mount namespaces of its own:
// it sees and signals only what it started, and its death ends all of it.
func entryAttr(in holder.Inside) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	if n, err := readNote(in); err == nil && n.weakened(weakPids) {
		a.Cloneflags &^= unix.CLONE_NEWPID
	}
	return a
}

// procReadOnly and procMasked are the parts of proc that a process of uid 0
// without any capability could still use against the host, since the kernel
// compares the uid there. Any other uid is refused by the files' own modes.
var (
	procReadOnly = []string{"sys", "irq", "bus", "fs", "sysrq-trigger"}
	procMasked   = []string{"kcore", "keys", "key-users", "timer_list", "sched_debug", "latency_stats", "acpi", "asound", "scsi"}
)

// prepare gives the entry a proc of its own pid namespace.
func prepare(in holder.Inside) error {
	n, err := readNote(in)
	if err != nil {
		return err
	}
	if err := prepareProc(n); err != nil {
		return fault.Wrap(fault.Unsupported, "enter", err)
	}
	return nil
}

func readNote(in holder.Inside) (note, error) {
	var n note
	if err := json.Unmarshal(in.Note, &n); err != nil {
		return n, fault.Wrap(fault.Internal, "enter", fmt.Errorf("read note: %w", err))
	}
	return n, nil
}

func prepareProc(n note) error {
	if n.weakened(weakProc) {
		return nil
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount proc: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	for _, p := range procReadOnly {
		if err := guardProc("/proc/"+p, "/proc/"+p); err != nil {
			return err
		}
	}
	for _, p := range procMasked {
		at, err := os.Lstat("/proc/" + p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if at.IsDir() {
			err = unix.Mount("tmpfs", "/proc/"+p, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0555,size=4k")
		} else {
			err = guardProc("/dev/null", "/proc/"+p)
		}
		if err != nil {
			return fmt.Errorf("mask /proc/%s: %w", p, err)
		}
	}
	return nil
}

// guardProc binds source read-only over target, if both exist.
func guardProc(source, target string) error {
	src, err := openHost(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(src)
	at, err := openHost(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return guardTree(src, at, target)
}

// guard binds source read-only over a handle.
func guard(source string, at int, target string) error {
	src, err := openHost(source)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	return guardTree(src, at, target)
}

// guardTree binds the object behind one handle read-only over another.
func guardTree(src, at int, target string) error {
	tree, err := cloneTree(src)
	if err != nil {
		return fmt.Errorf("guard %s: %w", target, err)
	}
	defer unix.Close(tree)
	attrs := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attrs); err != nil {
		return fmt.Errorf("guard %s: %w", target, err)
	}
	if err := attach(tree, at); err != nil {
		return fmt.Errorf("guard %s: %w", target, err)
	}
	return nil
}

// entryRules travel from the client to each entry.
type entryRules struct {
	Sockets []string `json:"sockets,omitempty"` // to be masked, if they show
}

// maskSockets hides sockets that have come since the inside was made, in the
// entry's own mounts.
func maskSockets(paths []string) error {
	for _, p := range paths {
		at, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		if err != nil {
			continue // it does not show
		}
		var st unix.Stat_t
		err = unix.Fstat(at, &st)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			err = guard(insideEmpty, at, p)
		}
		unix.Close(at)
		if err != nil {
			return err
		}
	}
	return nil
}

// seal confines the calling thread: no capabilities, no new privileges, Landlock,
// seccomp. In this order, since each forbids what the one before needs.
func seal(in holder.Inside, job holder.Job) error {
	n, err := readNote(in)
	if err != nil {
		return err
	}
	var r entryRules
	if err := json.Unmarshal(job.Rules, &r); err != nil {
		return fault.Wrap(fault.Internal, "enter", fmt.Errorf("read rules: %w", err))
	}
	if err := maskSockets(r.Sockets); err != nil {
		return fault.Wrap(fault.Unsupported, "enter", err)
	}
	if err := sealThread(in, n); err != nil {
		return fault.Wrap(fault.Unsupported, "enter", err)
	}
	return nil
}

func sealThread(in holder.Inside, n note) error {
	if !n.weakened(weakCaps) {
		if err := privilege.Drop(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if len(in.Files) > 0 {
		if err := domain.Enforce(in.Files[0], n.Flags); err != nil {
			return err
		}
	}
	if n.weakened(weakFiles) {
		if _, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0); err != nil {
			return err
		}
	}
	if n.weakened(weakSeccomp) {
		return nil
	}
	return syscallfilter.Install(syscallfilter.Namespaced())
}
