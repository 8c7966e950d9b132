//go:build !linux

package gitx

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives git a process group of its own, killed as a whole when the
// context ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

func runLocked(cmd *exec.Cmd) error { return cmd.Run() }
