package git

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// Commit publishes the result. See engine.Target. Errors: identity_changed, when
// the reference or HEAD moved since Prepare; conflict, naming paths that were
// changed since, or when index.lock is held by somebody else.
func (t *Target) Commit(ctx context.Context, raw json.RawMessage) (err error) {
	j, err := t.open(ctx, raw)
	if err != nil || j.Old == j.New {
		return err
	}
	defer j.close()
	if !j.Checkout {
		if err := j.letGo(ctx); err != nil {
			return err
		}
		return j.publish(ctx)
	}
	if err := j.readPlan(); err != nil {
		return err
	}
	unlock, err := j.lock(ctx)
	if err != nil {
		return err
	}
	// After a refusal the lock is given back; after a crash or an unexpected
	// error, too: the next attempt, or Undo, takes it again.
	defer func() { err = errors.Join(err, unlock()) }()
	if err := j.onBranch(ctx); err != nil {
		return err
	}
	foreign, err := j.foreign(ctx)
	if err != nil {
		return err
	}
	if len(foreign) > 0 {
		return conflict(foreign, "%d files were changed since the apply was prepared", len(foreign))
	}
	if j.plan.Files != nil {
		if err := j.cfg.Files.Commit(ctx, j.plan.Files); err != nil {
			return err
		}
	}
	if err := j.publish(ctx); err != nil {
		return err
	}
	return j.moveIndex(ctx, false)
}

// letGo takes the plan's own worktree off the branch that is published, so that
// the person can check it out.
func (j *job) letGo(ctx context.Context) error {
	own := j.planDir()
	if own == "" || j.Ref != "refs/heads/ambit/"+j.Plan {
		return nil
	}
	list, err := j.repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		if rel, err := filepath.Rel(own, w.Path); w.Branch != j.Ref || err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if err := j.repo.DetachWorktree(ctx, w.Path); err != nil {
			return err
		}
	}
	return nil
}

// publish brings the objects into the repository and moves the reference.
func (j *job) publish(ctx context.Context) error {
	now, err := j.repo.RefValue(ctx, j.Ref)
	if err != nil {
		return err
	}
	if now == j.New {
		return nil
	}
	if now != j.Old {
		return moved(j.Ref)
	}
	if j.Objects > 0 {
		if err := j.plain.TakePack(ctx, j.file("result.pack")); err != nil {
			return err
		}
	}
	err = j.repo.UpdateRefs(ctx, "apply "+j.Plan, gitx.RefChange{Name: j.Ref, New: j.New, Old: j.Old})
	if fault.Is(err, fault.Conflict) {
		return moved(j.Ref).WithCause(err)
	}
	return err
}

func moved(ref string) *fault.Error {
	return fault.New(fault.IdentityChanged, "apply", "%s moved since the apply was prepared", short(ref)).WithPaths(ref)
}

// onBranch makes sure, under the lock, that HEAD is still on the branch.
func (j *job) onBranch(ctx context.Context) error {
	head, err := j.repo.Head(ctx)
	if err != nil {
		return err
	}
	if head.Branch != j.Ref {
		if err := j.underWay(); err != nil {
			return err
		}
		on := "a detached HEAD"
		if head.Branch != "" {
			on = short(head.Branch)
		}
		return fault.New(fault.IdentityChanged, "apply", "%s is on %s now, not on %s", j.Location.WorkTree, on, short(j.Ref)).
			WithPaths(j.Ref).WithHint("git switch %s", short(j.Ref))
	}
	if head.Commit != j.Old && head.Commit != j.New {
		return moved(j.Ref)
	}
	return nil
}

// Verify re-reads reference, index and files. See engine.Target.
func (t *Target) Verify(ctx context.Context, raw json.RawMessage) error {
	j, err := t.open(ctx, raw)
	if err != nil || j.Old == j.New {
		return err
	}
	defer j.close()
	now, err := j.repo.RefValue(ctx, j.Ref)
	if err != nil {
		return err
	}
	if now != j.New {
		return moved(j.Ref)
	}
	if _, err := j.plain.TreeOf(ctx, j.New); err != nil {
		return err
	}
	if !j.Checkout {
		return nil
	}
	if err := j.readPlan(); err != nil {
		return err
	}
	if j.plan.Files != nil {
		if err := t.cfg.Files.Verify(ctx, j.plan.Files); err != nil {
			return err
		}
	}
	var bad []string
	changed, foreign, err := j.indexChanges(ctx, j.plain, false)
	if err != nil {
		return err
	}
	for _, e := range changed {
		bad = append(bad, e.Path)
	}
	if bad = append(bad, foreign...); len(bad) > 0 {
		return fault.New(fault.IdentityChanged, "verify apply", "%d paths are not what was applied", len(bad)).WithPaths(bad...)
	}
	return nil
}
