//go:build linux

package gitx

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// ownGroup gives git a process group of its own, killed as a whole when the
// context ends, and lets the kernel kill git should ambit die: a git that goes
// on writing after its master is gone would meet the recovery that follows.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
}

func killGroup(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// runLocked keeps the thread that starts git alive until git has ended, because
// the parent death signal follows the thread, not the process.
func runLocked(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}
