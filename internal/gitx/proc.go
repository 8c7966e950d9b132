package gitx

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// signalGroup signals git and everything it started.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
