package engine

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// withPlan runs fn on a plan that this process holds exclusively and that needs
// no recovery: what a crash left is repaired first (page "apply": commands on a
// plan do its recovery before anything else).
func (e *Engine) withPlan(ctx context.Context, id, doing string, fn func(p *Plan) error) (err error) {
	p, err := e.deps.Store.Plan(ctx, id)
	if err != nil {
		return err
	}
	if p.Status == PlanDiscarded {
		return discarded(id, doing)
	}
	if p.Status == PlanStaging {
		if making, err := e.beingMade(); err != nil || making {
			return errors.Join(err, fault.New(fault.Conflict, doing, "plan %s is being made", id).WithHint("wait until its process has made it"))
		}
	}
	lock, err := e.lockPlan(ctx, p.ID, p.Dir, doing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.unlock(ctx)) }()
	// Read again: it may have changed before the lock was ours.
	if p, err = e.deps.Store.Plan(ctx, id); err != nil {
		return err
	}
	if p.Status == PlanDiscarded { // and a crash kept it from the trash
		return discarded(id, doing)
	}
	done, err := e.repair(ctx, p)
	if err != nil {
		return err
	}
	if done != nil && done.Is == "" {
		return fault.New(fault.NotFound, doing, "plan %s never came to be: its staging was cut off, and what was left of it is removed", id)
	}
	return fn(p)
}

// withShared runs fn on a plan without taking its lock: for reading, and for
// commands that join a running plan.
func (e *Engine) withShared(ctx context.Context, id, doing string, fn func(p *Plan) error) error {
	p, err := e.deps.Store.Plan(ctx, id)
	if err != nil {
		return err
	}
	if p.Status == PlanDiscarded {
		return discarded(id, doing)
	}
	return fn(p)
}

func discarded(id, doing string) error {
	return fault.New(fault.Conflict, doing, "plan %s was discarded", id).WithHint("`ambit restore %s` brings it back", id)
}

// strategy finds a strategy by name.
func (e *Engine) strategy(name StrategyName) (Strategy, error) {
	for _, s := range e.deps.Strategies {
		if s.Name() == name {
			return s, nil
		}
	}
	return nil, fault.New(fault.Unsupported, "choose strategy", "no strategy is called %q", name).
		WithHint("one of: auto, %s", strings.Join(e.strategyNames(), ", "))
}

func (e *Engine) strategyNames() []string {
	var names []string
	for _, s := range e.deps.Strategies {
		names = append(names, string(s.Name()))
	}
	return names
}

func (e *Engine) confiner(rung Rung) (Confiner, error) {
	for _, c := range e.deps.Confiners {
		if c.Rung() == rung {
			return c, nil
		}
	}
	var names []string
	for _, c := range e.deps.Confiners {
		names = append(names, string(c.Rung()))
	}
	return nil, fault.New(fault.Unsupported, "choose confinement", "no confinement is called %q in this version", rung).
		WithHint("one of: auto, %s", strings.Join(names, ", "))
}

func (e *Engine) target(to ApplyTo) (Target, error) {
	for _, t := range e.deps.Targets {
		if t.To() == to {
			return t, nil
		}
	}
	return nil, fault.New(fault.Unsupported, "apply", "nothing applies to %q in this version", to)
}

// attach opens the sandbox of a record.
func (e *Engine) attach(ctx context.Context, rec SandboxRecord) (Sandbox, error) {
	s, err := e.strategy(rec.Strategy)
	if err != nil {
		return nil, err
	}
	return s.Attach(ctx, rec)
}

// Resolve finds the plan a person means. See Service.
func (e *Engine) Resolve(ctx context.Context, ref, dir string) (*Plan, error) {
	if strings.ContainsAny(ref, "/\\") || ref == "." || ref == ".." {
		return nil, fault.New(fault.Invalid, "find plan", "%q is a path, not a plan", ref).
			WithHint("a plan id looks like try-k7m2q; `ambit ps` lists them. Paths to select go after `--`")
	}
	if ref == "" {
		return e.resolveHere(ctx, dir)
	}
	ps, err := e.deps.Store.FindPlans(ctx, PlanQuery{IDPrefix: ref})
	if err != nil {
		return nil, err
	}
	for _, p := range ps {
		if p.ID == ref {
			return e.present(p), nil
		}
	}
	switch len(ps) {
	case 0:
		return nil, fault.New(fault.NotFound, "find plan", "no plan is called %q", ref).
			WithHint("`ambit ps --all` lists every plan")
	case 1:
		return e.present(ps[0]), nil
	}
	var ids []string
	for _, p := range ps {
		ids = append(ids, p.ID)
	}
	return nil, fault.New(fault.Invalid, "find plan", "%q fits %d plans", ref, len(ps)).
		WithPaths(ids...).WithHint("write more of the id")
}

func (e *Engine) resolveHere(ctx context.Context, dir string) (*Plan, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, "find plan", err)
	}
	ps, err := e.deps.Store.FindPlans(ctx, PlanQuery{Covers: real})
	if err != nil {
		return nil, err
	}
	for _, p := range ps {
		if p.Status != PlanDiscarded && p.Status != PlanStaging {
			return e.present(p), nil
		}
	}
	return nil, fault.New(fault.NotFound, "find plan", "no plan covers %s", real).
		WithHint("start one with `ambit try -- CMD` or `ambit run TICKET`; `ambit ps` lists plans elsewhere")
}

// Plans lists plans as they stand now. See Service.
func (e *Engine) Plans(ctx context.Context, q PlanQuery) ([]*Plan, error) {
	ps, err := e.deps.Store.FindPlans(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range ps {
		ps[i] = e.present(ps[i])
	}
	return ps, nil
}

// present shows a plan whose process died as what it is, without writing: only
// commands that take the plan repair it.
func (e *Engine) present(p *Plan) *Plan {
	switch p.Status {
	case PlanRunning, PlanStaging:
		if !e.held(p.Dir) {
			p.Status = PlanInterrupted
			for i := range p.Steps {
				if p.Steps[i].Status == StepRunning {
					p.Steps[i].Status, p.Steps[i].Message = StepPending, "interrupted"
				}
			}
		}
	case PlanApplying, PlanUndoing:
		if !e.held(p.Dir) {
			p.Notices = append(p.Notices, "this plan stopped in the middle of an apply or undo: run `ambit recover "+p.ID+"`")
		}
	default: // no process belongs to it
	}
	return p
}
