//go:build !linux

package gitx

import (
	"os/exec"
	"syscall"
)

// ownGroup gives git a process group of its own. At the end of the context it is
// asked with SIGTERM, at which git removes its lock files.
func ownGroup(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGTERM) }
}

func runLocked(cmd *exec.Cmd) error { return cmd.Run() }
