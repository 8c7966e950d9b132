//go:build linux

package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"golang.org/x/sys/unix"
)

// enterDir makes dir the working folder the command inherits.
func enterDir(dir string) error {
	err := os.Chdir(dir)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fault.New(fault.NotFound, "enter", "the folder %s does not exist inside", dir)
	default:
		return fault.Wrap(fault.Denied, "enter", err)
	}
}

// forkCommand forks the command from the sealed thread.
func forkCommand(path string, job Job, files []*os.File) (int, error) {
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd()
	}
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: job.TTY, Pdeathsig: syscall.SIGKILL}
	pid, err := syscall.ForkExec(path, job.Argv, &syscall.ProcAttr{Env: job.Env, Files: fds, Sys: attr})
	runtime.KeepAlive(files)
	return pid, err
}

// lookCommand finds the command's program the way a shell would, in the PATH of
// the command's own environment.
func lookCommand(argv, env []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", fault.New(fault.Invalid, "enter", "no command given")
	}
	name := argv[0]
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	var denied error
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "."
		}
		p := dir + "/" + name
		fi, err := os.Stat(p)
		if err != nil || fi.IsDir() {
			continue
		}
		if err := unix.Access(p, unix.X_OK); err != nil {
			denied = err
			continue
		}
		return p, nil
	}
	if denied != nil {
		return "", commandError(name, denied)
	}
	return "", commandError(name, syscall.ENOENT)
}

// commandError says why a command did not start.
func commandError(name string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		if _, serr := os.Stat(name); serr == nil {
			return fault.New(fault.NotFound, "enter", "%s needs an interpreter or loader that does not exist inside", name)
		}
		return fault.New(fault.NotFound, "enter", "command not found inside: %s", name).
			WithHint("only what PATH names, the tool chains ambit knows and the plan's resources are visible; --home ro shows more")
	case errors.Is(err, syscall.EACCES):
		return fault.New(fault.Denied, "enter", "command may not be executed: %s", name)
	case errors.Is(err, syscall.ENOEXEC):
		return fault.New(fault.Invalid, "enter", "command is no program and has no #! line: %s", name)
	case errors.Is(err, syscall.E2BIG):
		return fault.New(fault.Invalid, "enter", "arguments and environment are too long: %s", name)
	}
	return fault.Wrap(fault.Internal, "enter", fmt.Errorf("start %s: %w", name, err))
}
