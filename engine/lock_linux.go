package engine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Open file description locks (fcntl(2), "Open file description locks"): they
// die with the descriptor, and unlike flock(2) they can be asked about without
// being taken.

func tryLock(f *os.File) (bool, error) {
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

// lockShared waits for a shared lock; anybody who tries for the exclusive one
// meanwhile does not get it.
func lockShared(f *os.File) error {
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLKW, &unix.Flock_t{Type: unix.F_RDLCK})
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func isLocked(f *os.File) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err != nil {
		return false, err
	}
	return l.Type != unix.F_UNLCK, nil
}
