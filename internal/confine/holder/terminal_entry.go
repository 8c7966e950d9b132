//go:build linux

package holder

import (
	"fmt"
	"os"
	"strconv"

	"github.com/ambit-run/ambit/fault"
	"golang.org/x/sys/unix"
)

// openTerminal makes a pty in the sandbox's own devpts, sends its master to the
// client and returns its slave. The caller's terminal never comes inside: a
// command could push characters into it (TIOCSTI).
func (e *entry) openTerminal() (*os.File, error) {
	fail := func(step string, err error) (*os.File, error) {
		return nil, fault.Wrap(fault.Unsupported, "enter", fmt.Errorf("%s: %w", step, err)).
			WithHint("run without a terminal")
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail("open terminal", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		unix.Close(fd)
		return fail("unlock terminal", err)
	}
	if e.job.Rows > 0 && e.job.Cols > 0 {
		if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: e.job.Rows, Col: e.job.Cols}); err != nil {
			unix.Close(fd)
			return fail("size terminal", err)
		}
	}
	// By descriptor, not by the name in /dev/pts: it cannot be another's.
	peer, err := openPeer(fd)
	if err != nil {
		unix.Close(fd)
		return fail("open terminal", err)
	}
	if n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN); err == nil {
		e.job.Terminal = "/dev/pts/" + strconv.Itoa(n)
	}
	e.master = os.NewFile(uintptr(fd), "terminal")
	if err := e.control.Send(word{Word: "terminal"}, e.master); err != nil {
		unix.Close(peer)
		return nil, fault.Wrap(fault.Internal, "enter", err)
	}
	return os.NewFile(uintptr(peer), "terminal"), nil
}

// openPeer opens the slave of a pty master.
func openPeer(master int) (int, error) {
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER,
		uintptr(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC))
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}
