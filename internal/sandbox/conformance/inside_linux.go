package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
)

// insideArg is the name under which a test binary re-executes itself as the
// first process of the namespaces that a sandbox is entered through.
const insideArg = "ambit-conformance-inside"

func init() {
	if len(os.Args) > 0 && os.Args[0] == insideArg {
		if err := enterAndExec(); err != nil {
			fmt.Fprintln(os.Stderr, insideArg+":", err)
			os.Exit(97)
		}
	}
}

// insideSpec is what the first process is told, on descriptor 3.
type insideSpec struct {
	Entrance engine.Entrance
	Script   string
}

// Inside runs a shell script in a sandbox as a step would: through the mounts of
// its entrance in namespaces of its own, or at its path where it has none. It
// returns standard output; a script that fails is an error with both outputs.
func Inside(en engine.Entrance, script string) (string, error) {
	cmd, err := insideCommand(en, script)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%w\n%s%s", err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

func insideCommand(en engine.Entrance, script string) (*exec.Cmd, error) {
	env := append([]string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "LANG=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=step", "GIT_AUTHOR_EMAIL=step@localhost",
		"GIT_COMMITTER_NAME=step", "GIT_COMMITTER_EMAIL=step@localhost",
	}, en.Env...)
	if len(en.Mounts) == 0 {
		cmd := exec.Command("/bin/sh", "-ec", script)
		cmd.Dir, cmd.Env = en.Root, env
		return cmd, nil
	}
	raw, err := json.Marshal(insideSpec{en, script})
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() { // ends when the child, or this process by closing r, lets go of the pipe
		_, _ = w.Write(raw)
		_ = w.Close()
	}()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{insideArg}
	cmd.Env = env
	cmd.ExtraFiles = []*os.File{r}
	cmd.SysProcAttr = namespaces()
	return cmd, nil
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

// enterAndExec is the first process: it holds every host path that the mounts
// need before it covers any, mounts, gives up its rights and becomes the shell.
func enterAndExec() error {
	var spec insideSpec
	f := os.NewFile(3, "spec")
	if err := json.NewDecoder(f).Decode(&spec); err != nil {
		return fmt.Errorf("read spec: %w", err)
	}
	_ = f.Close()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make / private: %w", err)
	}
	type prepared struct {
		m    engine.Mount
		data string
		src  int
	}
	var todo []prepared
	for _, m := range spec.Entrance.Mounts {
		p := prepared{m: m, src: -1}
		switch m.Kind {
		case engine.MountOverlay:
			var lower []string
			for _, path := range m.Lower {
				fd, err := hold(path)
				if err != nil {
					return err
				}
				lower = append(lower, fdPath(fd))
			}
			up, err := hold(m.Upper)
			if err != nil {
				return err
			}
			work, err := hold(m.Work)
			if err != nil {
				return err
			}
			p.data = fmt.Sprintf("userxattr,lowerdir=%s,upperdir=%s,workdir=%s", strings.Join(lower, ":"), fdPath(up), fdPath(work))
		case engine.MountBind:
			fd, err := hold(m.Source)
			if err != nil {
				return err
			}
			p.src = fd
		}
		todo = append(todo, p)
	}
	for _, p := range todo {
		var err error
		if p.m.Kind == engine.MountOverlay {
			err = unix.Mount("overlay", p.m.Target, "overlay", unix.MS_NODEV|unix.MS_NOSUID, p.data)
		} else if err = unix.Mount(fdPath(p.src), p.m.Target, "", unix.MS_BIND|unix.MS_REC, ""); err == nil && p.m.ReadOnly {
			err = unix.Mount("", p.m.Target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
		}
		if err != nil {
			return fmt.Errorf("mount %s at %s (%s): %w", p.m.Kind, p.m.Target, p.data, err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	if err := unix.Chdir(spec.Entrance.Root); err != nil {
		return fmt.Errorf("enter %s: %w", spec.Entrance.Root, err)
	}
	err := unix.Exec("/bin/sh", []string{"sh", "-ec", spec.Script}, append(os.Environ(), "PWD="+spec.Entrance.Root))
	return errors.Join(errors.New("start the shell"), err)
}

func hold(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("hold %s: %w", path, err)
	}
	return fd, nil
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
