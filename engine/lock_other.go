//go:build !linux

package engine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock(2) cannot be asked about without being taken, so isLocked takes the
// lock for a moment, shared.

func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func lockShared(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_SH) }

func isLocked(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
