package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// Recover repairs what a crash left. See Service.
func (e *Engine) Recover(ctx context.Context, plan string) (*RecoverReport, error) {
	rep := &RecoverReport{Plans: []RecoveredPlan{}}
	var ps []*Plan
	if plan != "" {
		p, err := e.deps.Store.Plan(ctx, plan)
		if err != nil {
			return nil, err
		}
		ps = []*Plan{p}
	} else {
		var err error
		if ps, err = e.deps.Store.FindPlans(ctx, PlanQuery{}); err != nil {
			return nil, err
		}
	}
	dead, err := e.deadStaging(ctx)
	if err != nil {
		return nil, err
	}
	patience := time.NewTimer(heldPatience)
	defer patience.Stop()
	for _, p := range ps {
		if (p.Status == PlanStaging && !dead[p.ID]) || !e.needsRepair(p) {
			continue
		}
		if err := e.awaitFree(ctx, p, patience); err != nil {
			return rep, err
		}
		if e.held(p.Dir) {
			rep.Plans = append(rep.Plans, RecoveredPlan{Plan: p.ID, Was: p.Status, Is: p.Status, Action: leftAlone})
			continue
		}
		done, err := e.recoverPlan(ctx, p)
		switch {
		case fault.Is(err, fault.Conflict) && e.held(p.Dir): // taken since
			done = &RecoveredPlan{Plan: p.ID, Was: p.Status, Is: p.Status, Action: leftAlone}
		case err != nil:
			f := fault.As(err)
			done = &RecoveredPlan{Plan: p.ID, Was: p.Status, Is: p.Status, Action: "needs you", Error: err.Error(), Paths: f.Paths, Hint: f.Hint}
		}
		if done != nil {
			rep.Plans = append(rep.Plans, *done)
		}
	}
	if plan == "" {
		swept, err := e.sweep(ctx)
		rep.Swept = swept
		if err != nil {
			return rep, err
		}
	}
	return rep, nil
}

const leftAlone = "left alone: a living process is at work on it"

// heldPatience is how long recover waits, in all, for plans that are held. A
// killed process can seem to live on for a moment: a child that it was just
// starting shares its locks until it runs its own program.
const heldPatience = time.Second

// awaitFree waits until nobody holds the plan, or patience is at its end.
func (e *Engine) awaitFree(ctx context.Context, p *Plan, patience *time.Timer) error {
	for e.held(p.Dir) {
		tick := time.NewTimer(20 * time.Millisecond)
		select {
		case <-ctx.Done():
			tick.Stop()
			return fault.Wrap("", "recover", context.Cause(ctx))
		case <-patience.C:
			tick.Stop()
			patience.Reset(0) // at its end for the plans after this one, too
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// needsRepair reports whether a plan may have been left in the middle of
// something. It takes no lock: a plan that needs nothing is not disturbed.
func (e *Engine) needsRepair(p *Plan) bool {
	switch p.Status {
	case PlanStaging, PlanRunning, PlanApplying, PlanUndoing, PlanDiscarded:
		return true
	case PlanReady, PlanReview, PlanFailed, PlanInterrupted, PlanApplied, PlanUndone:
		// At rest by its status: its folder and its journal have to say the same.
	}
	if _, err := os.Stat(p.Dir); err != nil {
		return true
	}
	last, _, err := p.journal().open()
	if err != nil || last == nil {
		return err != nil
	}
	for _, a := range p.Applies {
		if a.ID == last.Apply {
			return a.Status != settled[last.Kind]
		}
	}
	return true
}

// settled are the states of an apply's record once the journal has said its last word.
var settled = map[journalKind]string{journalDone: applyCommitted, journalUndone: applyUndone, journalAbandon: applyAbandoned}

func (e *Engine) recoverPlan(ctx context.Context, p *Plan) (*RecoveredPlan, error) {
	brought := false
	if _, err := os.Lstat(p.Dir); errors.Is(err, os.ErrNotExist) {
		if brought, err = e.bringBack(ctx, p); err != nil {
			return nil, err
		}
		switch {
		case brought, p.Status == PlanDiscarded:
		case p.Status == PlanStaging:
			// The row came first, the folder never did: nothing was ever made.
			return &RecoveredPlan{Plan: p.ID, Was: p.Status, Is: "", Action: "removed: it never came to be"}, e.deps.Store.DeletePlan(ctx, p.ID)
		default:
			return nil, fault.New(fault.NotFound, "recover", "the folder of plan %s (%s) is gone", p.ID, p.Dir).
				WithHint("put it back if you moved it; `ambit discard %s` forgets the plan", p.ID)
		}
		if !brought {
			return nil, nil //nolint:nilnil // it lies in the trash
		}
	}
	lock, err := e.lockPlan(ctx, p.ID, p.Dir, "recover")
	if err != nil {
		return nil, err
	}
	// Whoever held the plan until now may have restored, run or discarded it: only
	// what the row says now counts.
	fresh, err := e.deps.Store.Plan(ctx, p.ID)
	var done *RecoveredPlan
	switch {
	case err != nil:
	case fresh.Status == PlanDiscarded:
		err = e.finishDiscard(ctx, fresh)
	default:
		if brought {
			e.registrars(ctx, fresh, "could not be made again", Registrar.Reregister)
		}
		done, err = e.repair(ctx, fresh)
		if err == nil && done == nil && brought {
			done = &RecoveredPlan{Plan: p.ID, Was: fresh.Status, Is: fresh.Status, Action: "brought back from the trash: it was never discarded"}
			err = e.save(ctx, fresh) // with the notices of the registrars
		}
	}
	return done, errors.Join(err, lock.unlock(ctx))
}

// bringBack takes the folder of a plan that is not discarded out of the trash, and
// reports whether it lay there.
func (e *Engine) bringBack(ctx context.Context, p *Plan) (bool, error) {
	now, err := e.deps.Store.Plan(ctx, p.ID)
	if err != nil || now.Status == PlanDiscarded {
		return false, err
	}
	from := filepath.Join(e.trashDir(), p.ID)
	if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err := os.Rename(from, p.Dir); err != nil {
		return false, folderFault("recover", err)
	}
	if err := errors.Join(syncDir(e.plansDir()), syncDir(e.trashDir())); err != nil {
		return false, folderFault("recover", err)
	}
	return true, nil
}

// repair brings a plan that this process holds back to a state that commands can
// start from. Nil means there was nothing to do.
func (e *Engine) repair(ctx context.Context, p *Plan) (*RecoveredPlan, error) {
	was := p.Status
	action, err := e.repairApply(ctx, p)
	if err != nil {
		return nil, err
	}
	if action == "" {
		switch p.Status {
		case PlanStaging:
			if err := e.unstage(ctx, p); err != nil {
				return nil, err
			}
			return &RecoveredPlan{Plan: p.ID, Was: was, Is: "", Action: "removed: it was never staged"}, nil
		case PlanRunning:
			if err := e.repairRun(ctx, p); err != nil {
				return nil, err
			}
			action = "marked interrupted"
		default:
			return nil, nil //nolint:nilnil // there was nothing to do
		}
	}
	return &RecoveredPlan{Plan: p.ID, Was: was, Is: p.Status, Action: action}, nil
}

// repairApply finishes what the journal says was begun. The journal decides; the
// store follows.
func (e *Engine) repairApply(ctx context.Context, p *Plan) (string, error) {
	last, states, err := p.journal().open()
	if err != nil || last == nil {
		if err == nil && (p.Status == PlanApplying || p.Status == PlanUndoing) {
			return "", fault.New(fault.Internal, "recover", "plan %s is %s but its journal is empty", p.ID, p.Status)
		}
		return "", err
	}
	switch last.Kind {
	case journalPrepare:
		e.ensureApply(p, *last)
		return "abandoned", e.abandon(ctx, p, *last)
	case journalCommit:
		e.ensureApply(p, *last)
		return "rolled forward", e.rollForward(ctx, p, *last)
	case journalUndo:
		e.ensureApply(p, *last)
		status := PlanUndone
		if p.Status == PlanApplying {
			status = last.Was
		}
		return "undone", e.rollBack(ctx, p, *states, status)
	case journalDone, journalUndone, journalAbandon:
	}
	// The last apply is finished; the store may have missed the news.
	e.ensureApply(p, *last)
	want, status := settled[last.Kind], p.Status
	if p.Status == PlanApplying || p.Status == PlanUndoing {
		switch last.Kind {
		case journalDone:
			status = PlanApplied
			if last.Rest > 0 {
				status = last.Was
			}
		case journalUndone:
			status = PlanUndone
			if p.Status == PlanApplying {
				status = last.Was
			}
		case journalAbandon:
			status = last.Was
		default: // the others returned above
		}
	}
	for i := range p.Applies {
		if p.Applies[i].ID == last.Apply && (p.Applies[i].Status != want || p.Status != status) {
			p.Applies[i].Status, p.Status = want, status
			return "store repaired from the journal", e.save(ctx, p)
		}
	}
	return "", nil
}

// ensureApply adds the apply's record where the store missed it.
func (e *Engine) ensureApply(p *Plan, l journalLine) {
	for _, a := range p.Applies {
		if a.ID == l.Apply {
			return
		}
	}
	p.Applies = append(p.Applies, ApplyRecord{ID: l.Apply, To: l.To, At: l.At, Only: l.Only, Was: l.Was, Summary: l.Summary})
}

// repairRun ends what may still live of a dead run and marks the plan so that
// --resume goes on: the step that was running starts again from its checkpoint.
func (e *Engine) repairRun(ctx context.Context, p *Plan) error {
	c, err := e.openCell(ctx, p, nil)
	if err != nil {
		return err
	}
	if err := c.close(ctx, true); err != nil {
		return err
	}
	p.Status = PlanInterrupted
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Status != StepRunning {
			continue
		}
		if p.Kind == "try" { // what the command left is work: it stays for review
			s.Status, s.Message = StepFailed, "interrupted"
			continue
		}
		name := fmt.Sprintf("%s@interrupted", s.ID)
		if s.Runs > 1 {
			name += fmt.Sprintf("#%d", s.Runs)
		}
		if s.From != "" {
			if err := e.checkpoint(ctx, c, name, true, nil); err != nil {
				return err
			}
			if err := e.restoreAll(ctx, c, s.From, nil); err != nil {
				return err
			}
		}
		s.Status, s.Message, s.EndedAt = StepPending, "interrupted", e.deps.Now()
	}
	return e.record(ctx, p, "run.interrupted", nil)
}
