package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/ambit-run/ambit/fault"
)

// asFault gives an error its code and says what to do. path is the database.
func asFault(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		if known.Op != "" {
			return err
		}
		c := *known
		c.Op = op
		return &c
	}
	// What the driver says of a statement that was cut off, and of the transaction
	// that ended with it, tells nobody anything.
	switch {
	case errors.Is(err, context.Canceled):
		return fault.Wrap(fault.Canceled, op, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(fault.Timeout, op, context.DeadlineExceeded)
	}
	dir := filepath.Dir(path)
	full := func() error {
		return fault.New(fault.Unavailable, op, "no space left for %s", path).WithCause(err).
			WithHint("free some space on the file system of %s; what was stored before is unharmed", dir)
	}
	denied := func() error {
		return fault.New(fault.Denied, op, "%s cannot be written", path).WithCause(err).
			WithHint("make %s writable for you, or name another state folder with AMBIT_HOME", dir)
	}
	var se *sqlite.Error
	if !errors.As(err, &se) {
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			return full()
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
			return denied()
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return fault.Wrap(fault.NotFound, op, err)
		case errors.Is(err, syscall.EIO):
			return fault.Wrap(fault.Unavailable, op, err)
		}
		return fault.Wrap(fault.Internal, op, err)
	}
	switch se.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return fault.New(fault.Unavailable, op, "another process has kept %s locked for %s", path, patience).WithCause(err).
			WithHint("wait for it or end it, then repeat")
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return damaged(op, path, err)
	case lib.SQLITE_FULL:
		return full()
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return denied()
	case lib.SQLITE_CANTOPEN:
		return fault.New(fault.Denied, op, "%s cannot be opened", path).WithCause(err).
			WithHint("it must be a file of yours in a folder that you can write: look at ls -la %s", dir)
	case lib.SQLITE_IOERR:
		if freeBytes(dir) == 0 {
			return full()
		}
		return fault.New(fault.Unavailable, op, "reading or writing %s failed", path).WithCause(err).
			WithHint("look at the disk under %s", dir)
	case lib.SQLITE_NOMEM:
		return fault.Wrap(fault.Unavailable, op, err)
	case lib.SQLITE_INTERRUPT:
		return fault.Wrap(fault.Canceled, op, context.Canceled)
	}
	return fault.Wrap(fault.Internal, op, err)
}

// isUnique reports whether err says that a key exists already.
func isUnique(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) &&
		(se.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY || se.Code() == lib.SQLITE_CONSTRAINT_UNIQUE)
}
