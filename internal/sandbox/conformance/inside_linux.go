package conformance

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
)

// Inside runs a shell script in a sandbox as a step would: through the mounts of
// its entrance in namespaces of its own, or at its path where it has none. It
// returns standard output; a script that fails is an error with both outputs.
func Inside(en engine.Entrance, script string) (string, error) {
	return runInside(insideSpec{Entrance: en, Script: script})
}

// Apply makes modifications in a sandbox.
func Apply(en engine.Entrance, ops []Op) error {
	_, err := runInside(insideSpec{Entrance: en, Ops: ops})
	return err
}

// Snapshot reads everything in a sandbox, as a process inside sees it.
func Snapshot(en engine.Entrance, skipGit bool) (Tree, error) {
	out, err := runInside(insideSpec{Entrance: en, Snapshot: true, SkipGit: skipGit})
	if err != nil {
		return nil, err
	}
	var nodes []Node
	if err := gob.NewDecoder(strings.NewReader(out)).Decode(&nodes); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	t := Tree{}
	for _, n := range nodes {
		t[n.Path] = n.Entry
	}
	return t, nil
}

// ErrNoNamespaces is why nobody can look into a sandbox that has mounts.
var ErrNoNamespaces = errors.New("no user namespaces here")

// Namespaces returns ErrNoNamespaces where the kernel refuses them. It asks the
// kernel, not a strategy.
var Namespaces = sync.OnceValue(func() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoNamespaces, err)
	}
	return nil
})

// Check ends a test that met an error; one for want of namespaces is skipped.
func Check(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrNoNamespaces):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

func runInside(spec insideSpec) (string, error) {
	var attr *syscall.SysProcAttr
	// A path bound to itself is one that must be readable, no more.
	spec.Entrance.Mounts = slices.DeleteFunc(slices.Clone(spec.Entrance.Mounts), func(m engine.Mount) bool {
		return m.Kind == engine.MountBind && m.Source == m.Target
	})
	if len(spec.Entrance.Mounts) > 0 {
		if err := Namespaces(); err != nil {
			return "", err
		}
		attr = namespaces()
	}
	var raw bytes.Buffer
	if err := gob.NewEncoder(&raw).Encode(spec); err != nil {
		return "", err
	}
	return again(insideArg, attr, raw.Bytes(), append([]string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "LANG=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=step", "GIT_AUTHOR_EMAIL=step@localhost",
		"GIT_COMMITTER_NAME=step", "GIT_COMMITTER_EMAIL=step@localhost",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}, spec.Entrance.Env...))
}

// again starts this binary once more under another name and hands it its orders
// on descriptor 3.
func again(arg0 string, attr *syscall.SysProcAttr, orders []byte, env []string) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.SysProcAttr = []string{arg0}, attr
	cmd.Env = append(env, "GORACE="+os.Getenv("GORACE"))
	cmd.ExtraFiles = []*os.File{r}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return "", errors.Join(err, w.Close())
	}
	_, werr := w.Write(orders)
	werr = errors.Join(werr, w.Close())
	if err := cmd.Wait(); err != nil {
		return stdout.String(), fmt.Errorf("%w\n%s%s", err, stdout.String(), stderr.String())
	}
	return stdout.String(), werr
}

// namespaces maps a plain user to itself and root to everything, as the real
// confinement does, and gives the first process what it needs for mounting.
func namespaces() *syscall.SysProcAttr {
	uid, gid := os.Geteuid(), os.Getegid()
	a := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if uid == 0 {
		const all = 4294967294
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: all}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: all}}
		a.GidMappingsEnableSetgroups = true
		return a
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	for c := uintptr(0); c <= unix.CAP_AUDIT_READ; c++ {
		a.AmbientCaps = append(a.AmbientCaps, c)
	}
	return a
}

// enterAndWork is the first process: it holds every host path that the mounts
// need before it covers any, mounts, gives up its rights and does its orders.
func enterAndWork() error {
	var spec insideSpec
	f := os.NewFile(3, "orders")
	if err := gob.NewDecoder(f).Decode(&spec); err != nil {
		return fmt.Errorf("read orders: %w", err)
	}
	_ = f.Close()
	if len(spec.Entrance.Mounts) > 0 {
		if err := mountAll(spec.Entrance.Mounts); err != nil {
			return err
		}
	}
	if err := unix.Chdir(spec.Entrance.Root); err != nil {
		return fmt.Errorf("enter %s: %w", spec.Entrance.Root, err)
	}
	unix.Umask(0o022)
	for _, op := range spec.Ops {
		op.run()
	}
	if spec.Snapshot {
		return writeSnapshot(os.Stdout, spec.SkipGit)
	}
	if spec.Script == "" {
		return nil
	}
	err := unix.Exec("/bin/sh", []string{"sh", "-ec", spec.Script}, append(os.Environ(), "PWD="+spec.Entrance.Root))
	return errors.Join(errors.New("start the shell"), err)
}

// prepared is a mount whose host paths are held.
type prepared struct {
	m    engine.Mount
	data string
	src  int
}

func mountAll(mounts []engine.Mount) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make / private: %w", err)
	}
	var todo []prepared
	for _, m := range mounts {
		p, err := prepare(m)
		if err != nil {
			return err
		}
		todo = append(todo, p)
	}
	for _, p := range todo {
		for _, target := range append([]string{p.m.Target}, p.m.Aliases...) {
			if err := p.mount(target); err != nil {
				return fmt.Errorf("mount %s at %s (%s): %w", p.m.Kind, target, p.data, err)
			}
			p.m.Kind, p.src = engine.MountBind, -1 // an alias is the same mount once more
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	if os.Geteuid() == 0 {
		return nil // root keeps its rights in its namespace, as on the host
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	return nil
}

func prepare(m engine.Mount) (prepared, error) {
	p := prepared{m: m, src: -1}
	if m.Kind == engine.MountBind {
		fd, err := hold(m.Source)
		p.src = fd
		return p, err
	}
	var paths []string
	for _, path := range append(append([]string{}, m.Lower...), m.Upper, m.Work) {
		fd, err := hold(path)
		if err != nil {
			return p, err
		}
		paths = append(paths, fdPath(fd))
	}
	n := len(m.Lower)
	p.data = fmt.Sprintf("userxattr,lowerdir=%s,upperdir=%s,workdir=%s", strings.Join(paths[:n], ":"), paths[n], paths[n+1])
	return p, nil
}

func (p prepared) mount(target string) error {
	if p.m.Kind == engine.MountOverlay {
		flags := uintptr(unix.MS_NODEV | unix.MS_NOSUID)
		if p.m.ReadOnly {
			flags |= unix.MS_RDONLY
		}
		return unix.Mount("overlay", target, "overlay", flags, p.data)
	}
	source := p.m.Target
	if p.src >= 0 {
		source = fdPath(p.src)
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil || !p.m.ReadOnly {
		return err
	}
	return unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

func hold(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("hold %s: %w", path, err)
	}
	return fd, nil
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
