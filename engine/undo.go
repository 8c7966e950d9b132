package engine

import (
	"context"
	"fmt"

	"github.com/ambit-run/ambit/fault"
)

// Undo reverses what of a plan is applied, the newest apply first, if the targets
// still are what was left. See Service.
func (e *Engine) Undo(ctx context.Context, plan string) (*Plan, error) {
	before, err := e.deps.Store.Plan(ctx, plan)
	if err != nil {
		return nil, err
	}
	var out *Plan
	err = e.withPlan(ctx, plan, "undo", func(p *Plan) error {
		out = p
		if before.Status != PlanUndone && before.Status != PlanApplying && p.Status == PlanUndone && !p.standing() {
			return nil // an undo was cut off, and taking up the plan has just finished it
		}
		for {
			line, err := e.lastApplied(p)
			if err != nil {
				return err
			}
			if err := e.undo(ctx, p, line); err != nil || !p.standing() {
				return err
			}
		}
	})
	return out, err
}

func (e *Engine) undo(ctx context.Context, p *Plan, line *journalLine) error {
	for i := len(line.Targets) - 1; i >= 0; i-- {
		t, err := e.target(line.Targets[i].To)
		if err != nil {
			return err
		}
		if err := t.CheckUndo(ctx, line.Targets[i].State); err != nil {
			f := fault.As(err)
			if f.Code != fault.Conflict && f.Code != fault.IdentityChanged {
				return err
			}
			g := *f
			g.Op, g.Message = "undo", fmt.Sprintf("somebody has built on apply %s of plan %s; it stays", line.Apply, p.ID)
			var why string
			if why, g.Cause = reason(f); why != "" {
				g.Message += ": " + why
			}
			return &g
		}
	}
	if _, err := e.keepBases(ctx, p, line.Apply, func(ch stepChange) bool { return ch.After == nil }); err != nil {
		return err
	}
	p.Status = PlanUndoing
	e.setApply(p, line.Apply, applyUndoing)
	if err := e.journalled(ctx, p, *line, journalUndo); err != nil {
		return err
	}
	return e.rollBack(context.WithoutCancel(ctx), p, *line, PlanUndone)
}

// lastApplied finds the newest apply that is committed and not undone, with its
// targets' states.
func (e *Engine) lastApplied(p *Plan) (*journalLine, error) {
	id := ""
	for _, a := range p.Applies {
		if a.Status == applyCommitted {
			id = a.ID
		}
	}
	if id == "" {
		return nil, fault.New(fault.Conflict, "undo", "plan %s has no apply to undo (it is %s)", p.ID, p.Status).
			WithHint("`ambit ps` shows which plans are applied")
	}
	lines, err := p.journal().read()
	if err != nil {
		return nil, err
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].Apply == id && lines[i].Kind == journalCommit {
			return &lines[i], nil
		}
	}
	return nil, fault.New(fault.Internal, "undo", "the journal of plan %s lacks apply %s", p.ID, id)
}
