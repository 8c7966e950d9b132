package fsop

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/ambit-run/ambit/fault"
)

// codeOf maps an errno to the code a caller can act on.
func codeOf(err error) fault.Code {
	var no syscall.Errno
	if !errors.As(err, &no) {
		switch {
		case errors.Is(err, os.ErrClosed):
			return fault.Internal
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return fault.CodeOf(err)
		}
		return fault.CodeOf(err)
	}
	switch no {
	case syscall.ENOENT:
		return fault.NotFound
	case syscall.EEXIST:
		return fault.Exists
	case syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ELOOP:
		return fault.Denied
	case syscall.ENOTEMPTY, syscall.ENOTDIR, syscall.EISDIR, syscall.EBUSY, syscall.ETXTBSY, syscall.EMLINK:
		return fault.Conflict
	case syscall.EINVAL, syscall.ENAMETOOLONG, syscall.EILSEQ, syscall.EOVERFLOW:
		return fault.Invalid
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
		syscall.EAGAIN, syscall.ESTALE, syscall.ETIMEDOUT:
		return fault.Unavailable
	case syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.EXDEV, syscall.ENOTTY:
		return fault.Unsupported
	}
	return fault.Internal
}

// fail makes the package's error: what was done, to which path, and why it
// failed. An error that already is a *fault.Error passes through.
func fail(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) && error(f) == err { //nolint:errorlint // asks whether err itself is one
		return err
	}
	e := &fault.Error{Code: codeOf(err), Op: op, Message: show(path), Cause: err}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Hint = "free some space on the file system and try again"
	case errors.Is(err, syscall.EDQUOT):
		e.Hint = "the disk quota is used up; free some space and try again"
	case errors.Is(err, syscall.EROFS):
		e.Hint = "the file system is mounted read-only"
	case errors.Is(err, syscall.EMFILE):
		e.Hint = "raise the limit on open files (ulimit -n)"
	}
	return e
}
