package git

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	if err := j.openOrMakeStage(); err != nil {
		return err
	}
	foreign, err := (&swapper{job: j, back: true}).run(ctx)
	if err != nil {
		return err
	}
	if err := j.moveIndex(ctx, true); err != nil {
		return err
	}
	if err := j.retract(ctx); err != nil {
		return err
	}
	if err := j.dropStage(); err != nil {
		return err
	}
	if len(foreign) > 0 {
		return conflict(foreign, "%d files were changed after the apply and were left as they are", len(foreign)).
			WithHint("their versions from before the apply are kept in %s", j.file("old"))
	}
	return nil
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
	bad, err := (&swapper{job: j, back: true}).foreign(ctx)
	if err != nil {
		return err
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
	for _, log := range j.plan.logs() {
		if err := j.repo.DropReflog(ctx, log, "undo "+j.Plan, j.Old); err != nil {
			return err
		}
		if err := j.repo.DropReflog(ctx, log, "apply "+j.Plan, j.New); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) logs() []string {
	if p == nil {
		return nil
	}
	return p.Logs
}

// Abandon removes what Prepare staged. See engine.Target.
func (t *Target) Abandon(_ context.Context, dir string, _ json.RawMessage) error {
	if err := t.removeStage(dir); err != nil {
		return err
	}
	d, err := fsop.OpenRoot(dir)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing is pending in a directory handle
	for _, name := range []string{"work", "old", "result.pack", plansFile, stageFile} {
		if err := d.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

// removeStage removes the folder of waiting files, wherever Prepare wrote that it
// would be. Only a folder of ambit's own name is ever removed.
func (t *Target) removeStage(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, stageFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap(fault.Internal, "read "+stageFile, err)
	}
	var stage string
	if err := json.Unmarshal(data, &stage); err != nil || !filepath.IsAbs(stage) {
		return fault.New(fault.Stale, "read "+stageFile, "%s is damaged", filepath.Join(dir, stageFile))
	}
	name := filepath.Base(stage)
	if !strings.HasPrefix(strings.TrimPrefix(name, "."), "ambit-") {
		return fault.New(fault.Stale, "read "+stageFile, "%q is no folder of ambit's", stage)
	}
	parent, err := fsop.OpenRoot(filepath.Dir(stage), fsop.WithIntercept(t.cfg.Intercept))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close() //nolint:errcheck // nothing is pending in a directory handle
	return parent.RemoveAll(name)
}
