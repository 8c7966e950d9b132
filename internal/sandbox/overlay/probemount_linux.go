package overlay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// probeArg is the name under which the running program is started once more, in
// namespaces of its own, to try a mount.
const probeArg = "ambit-overlay-probe"

// The check stands in init and not in a hook that main must call, because a
// program that forgot the hook would run itself for ever.
func init() {
	if len(os.Args) == 3 && os.Args[0] == probeArg {
		if err := tryMountInside(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprint(os.Stderr, err)
			syscall.Exit(1)
		}
		syscall.Exit(0) // at once: the race detector makes os.Exit wait
	}
}

// errNoNamespaces marks that not the mount but the namespaces were refused.
var errNoNamespaces = errors.New("user namespaces are refused")

// tryMount mounts an overlay over lower in a child process with user and mount
// namespaces of its own, upper and work in dir, and uses it. dir must hold empty
// folders upper, work and merged; the caller removes them.
func tryMount(ctx context.Context, lower, dir string) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{probeArg, lower, dir}
	cmd.Env = []string{}
	attr, err := probeNamespaces()
	if err != nil {
		return err
	}
	cmd.SysProcAttr = attr
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return errors.New(strings.TrimSpace(stderr.String()))
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", errNoNamespaces, err)
}

// probeNamespaces maps a plain user to itself alone, which is all that it may
// map, and root to everything that is mapped here.
func probeNamespaces() (*syscall.SysProcAttr, error) {
	a := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		// An identity map loses all capabilities at exec unless they are ambient;
		// DAC_OVERRIDE is for the overlay's work folder, which has mode 000.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN}
		return a, nil
	}
	var err error
	if a.UidMappings, err = identityMap("/proc/self/uid_map"); err != nil {
		return nil, err
	}
	if a.GidMappings, err = identityMap("/proc/self/gid_map"); err != nil {
		return nil, err
	}
	a.GidMappingsEnableSetgroups = true
	return a, nil
}

// identityMap maps every id that is mapped here to itself.
func identityMap(file string) ([]syscall.SysProcIDMap, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("%s has an unknown form", file)
		}
		first, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, err
		}
		size, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, err
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
	}
	return out, nil
}

// tryMountInside is the child: it mounts and does in the merged tree what
// commands do. Everything it writes lands in dir.
func tryMountInside(lower, dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	var fds []string
	for _, path := range []string{lower, dir + "/upper", dir + "/work"} {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		fds = append(fds, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	merged := dir + "/merged"
	data := "userxattr,lowerdir=" + fds[0] + ",upperdir=" + fds[1] + ",workdir=" + fds[2]
	if err := unix.Mount("overlay", merged, "overlay", unix.MS_NODEV|unix.MS_NOSUID, data); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(merged, &fs); err != nil || fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return errors.Join(fmt.Errorf("the mount shows file system 0x%x", fs.Type), err)
	}
	name := merged + "/.ambit-probe"
	if err := os.Mkdir(name, 0o700); err != nil {
		return fmt.Errorf("make a directory in it: %w", err)
	}
	if err := os.WriteFile(name+"/f", []byte("x"), 0o600); err != nil {
		return fmt.Errorf("write in it: %w", err)
	}
	if err := unix.Setxattr(name+"/f", "user.ambit.probe", []byte("x"), 0); err != nil {
		return fmt.Errorf("set an attribute in it: %w", err)
	}
	if err := os.Rename(name, name+"2"); err != nil {
		return fmt.Errorf("rename in it: %w", err)
	}
	if _, err := os.Stat(dir + "/upper/.ambit-probe2/f"); err != nil {
		return fmt.Errorf("find in the upper what was written: %w", err)
	}
	return hideOne(merged, dir+"/upper")
}

// hideOne deletes one file of the lower in the merged tree and looks for the
// whiteout. A lower without a file of ours proves nothing either way.
func hideOne(merged, upper string) error {
	f, err := os.Open(merged)
	if err != nil {
		return err
	}
	entries, _ := f.ReadDir(64) // a few are enough; an error shows in having none
	_ = f.Close()
	for _, e := range entries {
		var st unix.Stat_t
		if !e.Type().IsRegular() || unix.Lstat(merged+"/"+e.Name(), &st) != nil || int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
			continue
		}
		if err := os.Remove(merged + "/" + e.Name()); err != nil {
			return fmt.Errorf("delete in it: %w", err)
		}
		if err := unix.Lstat(upper+"/"+e.Name(), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0 {
			return errors.Join(errors.New("a deletion left no whiteout in the upper"), err)
		}
		return nil
	}
	return nil
}
