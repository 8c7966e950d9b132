//go:build linux

package gitx

import (
	"os/exec"
	"runtime"
	"syscall"
)

// ownGroup gives git a process group of its own and lets the kernel end it should
// ambit die: a git that goes on writing into a quarantine after its master is gone
// would meet the recovery that follows. It is asked with SIGTERM, at which git
// removes its temporary files.
//
// A brief command is left to finish: one that moves references takes milliseconds
// and is atomic, while a signal that meets it just after it has made a lock file
// leaves that file behind for good (3 % of the kills of an update-ref did).
func ownGroup(cmd *exec.Cmd, brief bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !brief {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGTERM) }
}

// runLocked keeps the thread that starts git alive until git has ended, because
// the parent death signal follows the thread, not the process.
func runLocked(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}
