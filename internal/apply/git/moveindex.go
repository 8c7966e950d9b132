package git

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// moveIndex replaces the index, under its lock, by one in which the touched paths
// are what they are to be, everything else as it is. Entries that somebody
// changed since are named in a conflict.
func (j *job) moveIndex(ctx context.Context, back bool) error {
	const name = "index"
	tmp := j.stageName() + ".index"
	_ = j.gitDir.Remove(tmp) // what a crash left
	_ = j.gitDir.Remove(tmp + ".lock")
	if _, err := fsop.CopyFile(ctx, j.gitDir, name, j.gitDir, tmp, fsop.CopyOptions{Replace: true}); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	view := j.plain.WithIndex(filepath.Join(j.Location.GitDir, tmp))
	defer func() { _ = j.gitDir.Remove(tmp) }() // renamed away when all went well
	changed, foreign, err := j.indexChanges(ctx, view, back)
	if err != nil {
		return err
	}
	if len(foreign) > 0 {
		return conflict(foreign, "%d paths were staged since the apply was prepared", len(foreign))
	}
	if err := view.UpdateIndex(ctx, changed); err != nil {
		return err
	}
	if err := view.Refresh(ctx); err != nil {
		return err
	}
	if err := j.likeIndex(tmp); err != nil {
		return err
	}
	if err := j.gitDir.Replace(tmp, j.gitDir, name); err != nil {
		return err
	}
	return j.gitDir.Sync()
}

// likeIndex makes the new index durable, with mode and owner of the present one.
func (j *job) likeIndex(tmp string) error {
	if old, err := j.gitDir.Stat("index"); err == nil {
		if os.Geteuid() == 0 {
			if err := j.gitDir.Chown(tmp, int(old.UID), int(old.GID)); err != nil {
				return err
			}
		}
		if err := j.gitDir.Chmod(tmp, old.Mode); err != nil {
			return err
		}
	}
	f, _, err := j.gitDir.Open(tmp)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fault.Wrap(writeCode(err), "write index", err)
	}
	return nil
}

// indexChanges compares the touched entries of an index with what they were and
// are to be.
func (j *job) indexChanges(ctx context.Context, view *gitx.Repo, back bool) (changed []gitx.IndexEntry, foreign []string, err error) {
	list, err := view.IndexEntries(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := map[string]entry{}
	for _, e := range list {
		now[e.Path] = entry{Mode: e.Mode, ID: e.ID, Skip: e.SkipWorktree}
		if e.Stage != 0 {
			foreign = append(foreign, e.Path)
		}
	}
	for i := range j.plan.Steps {
		s := &j.plan.Steps[i]
		want, was := s.IndexAfter, s.IndexBefore
		if back {
			want, was = was, want
		}
		switch have := now[string(s.Path)]; have {
		case want:
		case was:
			changed = append(changed, s.index(want))
		default:
			foreign = append(foreign, string(s.Path))
		}
	}
	return changed, foreign, nil
}
