package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// preflight finds out before the decision what would stop a commit after it:
// folders of the repository that cannot be written, and a reference whose name is
// in the way of the new one.
func (j *job) preflight(ctx context.Context) error {
	common := j.Location.CommonDir
	if common == "" {
		common = j.Location.GitDir
	}
	for _, dir := range []string{j.Location.GitDir, common, filepath.Join(common, "objects"), nearest(filepath.Join(common, filepath.Dir(j.Ref)))} {
		err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		switch {
		case err == nil:
		case errors.Is(err, unix.EROFS):
			return fault.New(fault.Denied, "apply", "%s is on a read-only file system", dir).WithCause(err)
		default:
			return fault.New(fault.Denied, "apply", "git cannot write in %s", dir).WithCause(err).
				WithHint("mend its owner or mode, or apply to the work tree: --to worktree")
		}
	}
	return j.nameIsFree(ctx)
}

// nearest returns the deepest folder on the way to path that exists.
func nearest(path string) string {
	for {
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// nameIsFree refuses a new branch below or above another one: git keeps a branch
// as a file and cannot have a folder of the same name.
func (j *job) nameIsFree(ctx context.Context) error {
	if j.Old != "" {
		return nil
	}
	refs, err := j.repo.Refs(ctx)
	if err != nil {
		return err
	}
	for _, r := range refs {
		if strings.HasPrefix(r.Name, j.Ref+"/") || strings.HasPrefix(j.Ref, r.Name+"/") {
			return fault.New(fault.Exists, "apply", "there is a branch %s, and git cannot keep %s beside it", short(r.Name), short(j.Ref)).
				WithHint("choose another name with --branch")
		}
	}
	return nil
}
