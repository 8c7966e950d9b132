package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
)

// Discard moves a plan to the trash: one rename, after one walk through its folder
// that measures what the trash will hold by it. See Service.
func (e *Engine) Discard(ctx context.Context, plan string) (*Plan, error) {
	if p, gone, err := e.forget(ctx, plan); err != nil || gone {
		return p, err
	}
	if err := e.undecided(ctx, plan); err != nil {
		return nil, err
	}
	var out *Plan
	err := e.withPlan(ctx, plan, "discard", func(p *Plan) error {
		out = p
		c, err := e.openCell(ctx, p, nil)
		if err != nil {
			return err
		}
		if err := e.idle(ctx, c); err != nil {
			return err
		}
		if err := c.close(ctx, false); err != nil {
			return err
		}
		p.DiscardedAs, p.DiscardedAt, p.TrashBytes = p.Status, e.deps.Now(), e.folderBytes(ctx, p.Dir)
		p.Status = PlanDiscarded
		if err := e.record(ctx, p, "plan.discarded", nil); err != nil {
			return err
		}
		if err := errors.Join(e.finishDiscard(ctx, p), e.releaseScope(ctx, p)); err != nil {
			return err
		}
		if e.trashDue(p) {
			p.Notices = append(p.Notices, e.emptyTrash(ctx, p.ID)...)
		}
		return nil
	})
	return out, err
}

// undecided refuses to throw a plan away in the middle of an apply or undo: what
// was decided there has to come to its end first, and that is not for a discard
// to do in passing.
func (e *Engine) undecided(ctx context.Context, plan string) error {
	p, err := e.deps.Store.Plan(ctx, plan)
	if err != nil {
		return err
	}
	last, _, err := p.journal().open()
	if err != nil {
		return err
	}
	if last != nil && (last.Kind == journalCommit || last.Kind == journalUndo) && !e.held(p.Dir) {
		return fault.New(fault.Conflict, "discard", "plan %s stopped in the middle of an %s that is decided", p.ID, map[journalKind]string{journalCommit: "apply", journalUndo: "undo"}[last.Kind]).
			WithHint("`ambit recover %s` carries it to its end; after that, undo or discard it", p.ID)
	}
	return nil
}

// forget drops the row of a plan whose folder somebody removed: there is nothing
// left that could be kept. It reports whether the plan was such a one.
func (e *Engine) forget(ctx context.Context, plan string) (p *Plan, gone bool, err error) {
	p, err = e.deps.Store.Plan(ctx, plan)
	if err != nil {
		return nil, false, err
	}
	if _, err := os.Lstat(p.Dir); p.Status == PlanDiscarded || p.Status == PlanStaging || !errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if _, err := os.Lstat(filepath.Join(e.trashDir(), p.ID)); err == nil {
		return nil, false, nil
	}
	p.Status = PlanDiscarded
	p.Notices = append(p.Notices, "its folder was gone already, so it cannot be restored")
	return p, true, e.deps.Store.DeletePlan(ctx, p.ID)
}

// finishDiscard moves the folder, if a crash has not let it happen yet. What the
// real resources hold for its sandboxes goes before; a resource that is gone, or
// whose owner has forbidden it since, keeps no plan from the trash.
func (e *Engine) finishDiscard(ctx context.Context, p *Plan) error {
	if _, err := os.Lstat(p.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	e.registrars(ctx, p, "stays behind", Registrar.Unregister)
	if err := os.MkdirAll(e.trashDir(), 0o700); err != nil {
		return folderFault("discard", err)
	}
	if err := os.Rename(p.Dir, filepath.Join(e.trashDir(), p.ID)); err != nil {
		return folderFault("discard", err)
	}
	return errors.Join(syncDir(e.trashDir()), syncDir(e.plansDir()))
}

// registrars lets strategies give back or take again what they keep in the real
// resources. What cannot be done is a notice of the plan.
func (e *Engine) registrars(ctx context.Context, p *Plan, what string, do func(Registrar, context.Context, SandboxRecord) error) {
	for _, rec := range p.Sandboxes {
		s, err := e.strategy(rec.Strategy)
		if err != nil {
			continue
		}
		if r, ok := s.(Registrar); ok {
			if err := do(r, context.WithoutCancel(ctx), rec); err != nil {
				p.Notices = append(p.Notices, fmt.Sprintf("%s: what the sandbox keeps in the repository %s: %v", rec.Resource.Name, what, err))
			}
		}
	}
}

// Restore brings a discarded plan back. See Service.
func (e *Engine) Restore(ctx context.Context, plan string) (*Plan, error) {
	p, err := e.deps.Store.Plan(ctx, plan)
	if err != nil {
		return nil, err
	}
	if p.Status != PlanDiscarded {
		return nil, fault.New(fault.Conflict, "restore", "plan %s is not in the trash: it is %s", p.ID, p.Status).
			WithHint("`ambit restore-checkpoint` returns to an earlier state of a plan")
	}
	from := filepath.Join(e.trashDir(), p.ID)
	if _, err := os.Lstat(p.Dir); errors.Is(err, os.ErrNotExist) {
		if err := os.Rename(from, p.Dir); err != nil {
			return nil, folderFault("restore", err)
		}
		if err := errors.Join(syncDir(e.plansDir()), syncDir(e.trashDir())); err != nil {
			return nil, folderFault("restore", err)
		}
	}
	lock, err := e.lockPlan(ctx, p.ID, p.Dir, "restore")
	if err != nil {
		return nil, err
	}
	e.registrars(ctx, p, "could not be made again", Registrar.Reregister)
	p.Status, p.DiscardedAs = p.DiscardedAs, ""
	err = e.record(ctx, p, "plan.restored", nil)
	return p, errors.Join(err, lock.unlock(ctx))
}
