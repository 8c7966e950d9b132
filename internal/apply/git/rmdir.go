package git

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// removeDir removes an empty directory and nothing else. It reports false when
// there is none by that name: absent, full, or another kind of thing, which a
// general removal would have taken away.
func (j *job) removeDir(path string) (bool, error) {
	dir, base := fsop.SplitRel(path)
	parent, err := j.root.OpenDir(dir)
	if fault.Is(err, fault.NotFound) || blocked(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer parent.Close() //nolint:errcheck // nothing is pending in a directory handle
	if j.cfg.Intercept != nil {
		if err := j.cfg.Intercept("rmdir", path); err != nil {
			return false, err
		}
	}
	err = unix.Unlinkat(parent.Fd(), base, unix.AT_REMOVEDIR)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST), errors.Is(err, unix.ELOOP):
		return false, nil
	}
	return false, fault.Wrap(fault.Internal, "remove directory "+path, err)
}
