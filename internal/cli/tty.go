package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// bothWays returns a descriptor of the terminal that can be read and written: f
// itself where it was opened so, else the controlling terminal, else f.
func bothWays(f *os.File) *os.File {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_ACCMODE == unix.O_RDWR {
		return f
	}
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		return tty
	}
	return f
}
