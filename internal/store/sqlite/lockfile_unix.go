//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockCreation serialises creating, migrating and setting aside the database at
// path between processes. It is a file of its own, never the database: closing
// a descriptor of the database would drop SQLite's locks on it.
func lockCreation(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state folder: %w", err)
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock state folder: %w", err)
	}
	return func() { _ = f.Close() }, nil // the kernel drops the lock with the descriptor
}

// freeBytes is what an unprivileged user may still write beside path; -1 if unknown.
func freeBytes(path string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
