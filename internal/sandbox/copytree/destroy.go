package copytree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Destroy removes everything in the sandbox's folder. Commits that exist only in
// the copy's repository block it, code conflict, unless abandon says that they
// are kept elsewhere or given up. The state file goes last, so that a removal
// that was cut off can be taken up again.
func (s *Sandbox) Destroy(ctx context.Context, abandon bool) error {
	return edge("destroy sandbox", s.destroy(ctx, abandon))
}

func (s *Sandbox) destroy(ctx context.Context, abandon bool) error {
	dir, err := s.strat.openRoot(s.dirPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.Stat(stateFile); errors.Is(err, fs.ErrNotExist) {
		return nil // destroyed before
	} else if err != nil {
		return err
	}
	if !s.st.Destroying {
		if err := settle(dir); err != nil {
			return err
		}
		if !abandon && s.isGit() {
			if err := s.checkCommits(ctx, dir); err != nil {
				return err
			}
		}
		next := s.st.clone()
		next.Destroying = true
		if err := next.save(dir); err != nil {
			return err
		}
		s.st = next
	}
	if err := empty(dir, stateFile); err != nil {
		return err
	}
	if s.strat.fill != nil {
		rec := s.rec
		rec.Confined = s.st.Confined
		if err := s.strat.fill.Release(ctx, rec, s.st.Base); err != nil {
			return err
		}
	}
	if err := dir.Remove(stateFile); err != nil {
		return err
	}
	return dir.Sync()
}

// empty removes everything in a folder but one entry.
func empty(dir *fsop.Dir, but string) error {
	entries, err := dir.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name == but {
			continue
		}
		if err := dir.RemoveAll(e.Name); err != nil {
			return fmt.Errorf("remove %s: %w", e.Name, err)
		}
	}
	return nil
}

// lostCommits is the refusal to remove commits that nothing else holds.
func lostCommits(refs []string) error {
	return fault.New(fault.Conflict, "", "the sandbox holds commits that exist nowhere else").WithPaths(refs...).
		WithHint("apply them, or discard the plan: then they are kept in the trash")
}
