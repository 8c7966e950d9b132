package git

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// Undo takes a Commit back, finished or not. See engine.Target. A reference that
// moved is a conflict, and then nothing is done. Files that somebody changed since
// are left alone and named; everything else goes back.
func (t *Target) Undo(ctx context.Context, raw json.RawMessage) (err error) {
	j, err := t.open(ctx, raw)
	if err != nil || j.Old == j.New {
		return err
	}
	defer j.close()
	if !j.Checkout {
		if err := j.checkUndoRef(ctx); err != nil {
			return err
		}
		return j.retract(ctx)
	}
	if err := j.readPlan(); err != nil {
		return err
	}
	unlock, err := j.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := j.checkUndoRef(ctx); err != nil {
		return err
	}
	var left error // files that are somebody's by now: everything else goes back
	if j.plan.Files != nil {
		if left = t.cfg.Files.Undo(ctx, j.plan.Files); left != nil && !fault.Is(left, fault.Conflict) {
			return left
		}
	}
	if err := j.moveIndex(ctx, true); err != nil {
		return errors.Join(err, left)
	}
	if err := j.retract(ctx); err != nil {
		return errors.Join(err, left)
	}
	return left
}

// CheckUndo reports what Undo would meet. See engine.Target.
func (t *Target) CheckUndo(ctx context.Context, raw json.RawMessage) error {
	j, err := t.open(ctx, raw)
	if err != nil || j.Old == j.New {
		return err
	}
	defer j.close()
	if err := j.checkUndoRef(ctx); err != nil || !j.Checkout {
		return err
	}
	if err := j.readPlan(); err != nil {
		return err
	}
	var bad []string
	if j.plan.Files != nil {
		if err := t.cfg.Files.CheckUndo(ctx, j.plan.Files); fault.Is(err, fault.Conflict) {
			bad = fault.As(err).Paths
		} else if err != nil {
			return err
		}
	}
	_, staged, err := j.indexChanges(ctx, j.plain, true)
	if err != nil {
		return err
	}
	if bad = append(bad, staged...); len(bad) > 0 {
		slices.Sort(bad)
		bad = slices.Compact(bad)
		return conflict(bad, "%d paths were changed after the apply", len(bad)).
			WithHint("commit them, or move them away, and undo again; or git revert %.12s", j.New)
	}
	return nil
}

// checkUndoRef makes sure that the reference is what Commit left, or what a
// Commit that was cut off had not moved yet.
func (j *job) checkUndoRef(ctx context.Context) error {
	now, err := j.repo.RefValue(ctx, j.Ref)
	if err != nil {
		return err
	}
	if now != j.New && now != j.Old {
		return conflict([]string{j.Ref}, "%s has moved since the apply: somebody has built on it", short(j.Ref)).
			WithHint("git revert %s takes the plan's changes back in a new commit", revertArgs(j.Old, j.New))
	}
	if !j.Checkout {
		return j.checkElsewhere(ctx, j.planDir())
	}
	if err := j.onBranch(ctx); err != nil {
		return fault.Wrap(fault.Conflict, "", err)
	}
	return nil
}

func revertArgs(from, to string) string {
	if from == "" {
		return to[:12]
	}
	return from[:12] + ".." + to[:12]
}

// retract moves the reference back and takes the reflog entries of the apply and
// of its undoing away, where they are the newest: then the log is as it was.
func (j *job) retract(ctx context.Context) error {
	now, err := j.repo.RefValue(ctx, j.Ref)
	if err != nil {
		return err
	}
	if now == j.New {
		err := j.repo.UpdateRefs(ctx, "undo "+j.Plan, gitx.RefChange{Name: j.Ref, New: j.Old, Old: j.New})
		if fault.Is(err, fault.Conflict) {
			return conflict([]string{j.Ref}, "%s moved while it was taken back", short(j.Ref)).WithCause(err)
		}
		if err != nil {
			return err
		}
	}
	if j.Old == "" {
		return nil // the log went with the reference
	}
	if !j.Checkout {
		return nil // a branch of its own, back at the base
	}
	for _, log := range []string{"HEAD", j.Ref} {
		if err := j.repo.DropReflog(ctx, log, "undo "+j.Plan, j.Old); err != nil {
			return err
		}
		if err := j.repo.DropReflog(ctx, log, "apply "+j.Plan, j.New); err != nil {
			return err
		}
	}
	return nil
}

// Abandon removes what Prepare staged. See engine.Target.
func (t *Target) Abandon(ctx context.Context, dir string, _ json.RawMessage) error {
	d, err := fsop.OpenRoot(dir)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing is pending in a directory handle
	if _, err := d.Stat(filesDir); err == nil {
		if err := t.cfg.Files.Abandon(ctx, filepath.Join(dir, filesDir), nil); err != nil {
			return err
		}
	}
	for _, name := range []string{"work", filesDir, "result.pack", plansFile} {
		if err := d.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}
