package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

func damaged(op, path string, cause error) error {
	return fault.New(fault.Unavailable, op, "%s is damaged", path).WithCause(cause).
		WithHint("the plans' folders and journals beside it are not part of it; look with `ambit doctor`, which can set the file aside under a new name and start another")
}

// Check reads the whole database and reports damage: unavailable, naming the
// first findings. It takes time in proportion to the size and writes nothing.
func (s *Store) Check(ctx context.Context) error {
	const op = "check store"
	rows, err := s.read.QueryContext(ctx, `PRAGMA integrity_check(10)`)
	if err != nil {
		return asFault(op, s.path, err)
	}
	var found []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return asFault(op, s.path, errors.Join(err, rows.Close()))
		}
		found = append(found, line)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return asFault(op, s.path, err)
	}
	if len(found) == 1 && found[0] == "ok" {
		return nil
	}
	return damaged(op, s.path, errors.New(strings.Join(found, "; ")))
}

// SetAside renames a damaged database and its log to names that say so and when,
// and returns the new name; nothing is copied, overwritten or deleted. It is
// only for a person who asked for it. Conflict if the database is sound, or if
// a process still has it open (this one included).
func SetAside(ctx context.Context, path string, now time.Time) (kept string, err error) {
	const op = "set store aside"
	unlock, err := lockCreation(path)
	if err != nil {
		return "", asFault(op, path, err)
	}
	defer unlock()
	if _, err := os.Lstat(path); err != nil {
		return "", asFault(op, path, err)
	}
	if live.has(path) {
		return "", inUse(op, path, os.Getpid())
	}
	if pid, err := holderOf(path); err != nil {
		return "", asFault(op, path, err)
	} else if pid != 0 {
		return "", inUse(op, path, pid)
	}
	if err := proveDamage(ctx, path); err != nil {
		return "", asFault(op, path, err)
	}
	kept = path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	// The log first: a log beside a new database would be taken for its own.
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		err := renameNew(path+suffix, kept+suffix)
		if err != nil && !(suffix != "" && errors.Is(err, fs.ErrNotExist)) {
			return "", asFault(op, path, fmt.Errorf("rename: %w", err))
		}
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return "", asFault(op, path, err)
	}
	return kept, nil
}

// proveDamage is nil if the database is damaged and a conflict if it is not.
func proveDamage(ctx context.Context, path string) error {
	s, err := connect(ctx, path)
	if err == nil {
		err = errors.Join(s.Check(ctx), s.Close())
	}
	err = asFault("", path, err)
	switch {
	case err == nil:
		return fault.New(fault.Conflict, "", "%s is sound", path).WithHint("nothing needs to be set aside")
	case fault.Is(err, fault.Unavailable) && strings.Contains(err.Error(), "is damaged"):
		return nil
	}
	return err
}

func inUse(op, path string, pid int) error {
	who := "another process"
	if pid > 0 {
		who = fmt.Sprintf("process %d", pid)
	}
	return fault.New(fault.Conflict, op, "%s has %s open", who, path).
		WithHint("end every ambit command and holder first: ambit ps")
}

// SQLite's lock bytes (file format, "locking"): a connection in WAL mode keeps
// a shared lock in this range for as long as it is open.
const (
	lockStart  = 0x40000000 // PENDING_BYTE
	lockLength = 512        // pending, reserved and the shared range
)

// holderOf returns a process that has the database open: 0 if none, -1 if it
// cannot be named. The caller has made sure that this process has not, as
// closing the descriptor used here would drop its locks.
func holderOf(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // read only
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: lockStart, Len: lockLength}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil {
		return 0, fmt.Errorf("look for locks: %w", err)
	}
	if l.Type == unix.F_UNLCK {
		return 0, nil
	}
	if l.Pid <= 0 {
		return -1, nil
	}
	return int(l.Pid), nil
}

// renameNew renames without replacing. The creation lock is held, so no other
// ambit makes the new name between the two calls.
func renameNew(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	return os.Rename(from, to)
}
