package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// Run executes the steps that are not done, one after another in the DAG's
// order. See Service.
func (e *Engine) Run(ctx context.Context, req RunRequest) (*RunResult, error) {
	var res *RunResult
	err := e.withPlan(ctx, req.Plan, "run", func(p *Plan) error {
		res = &RunResult{Plan: p}
		switch p.Status {
		case PlanReady, PlanInterrupted, PlanFailed, PlanReview:
		default:
			return fault.New(fault.Conflict, "run", "plan %s is %s", p.ID, p.Status).
				WithHint("only a plan that waits, failed or was interrupted can run its steps")
		}
		if p.Ticket == nil {
			return fault.New(fault.Conflict, "run", "plan %s has no ticket to run", p.ID).
				WithHint("it was made by `ambit try`; use `ambit exec %s -- CMD` to go on in it", p.ID)
		}
		if _, err := e.claimScope(ctx, p, req.Scope, req.Observe); err != nil {
			return err
		}
		r := &runner{eng: e, plan: p, req: req}
		return errors.Join(r.run(ctx), e.releaseScope(ctx, p))
	})
	return res, err
}

// runner carries out one run of a plan's steps.
type runner struct {
	eng  *Engine
	plan *Plan
	req  RunRequest
	cell *cell
	at   map[string]int // the index of each step
	prev string         // the checkpoint that the present state equals
}

func (r *runner) run(ctx context.Context) (err error) {
	p := r.plan
	r.at = make(map[string]int, len(p.Steps))
	for i := range p.Steps {
		r.at[p.Steps[i].ID] = i
	}
	for i := range p.Steps { // a resume gives failed and skipped steps another chance
		s := &p.Steps[i]
		if s.Status == StepFailed || (s.Status == StepSkipped && s.SkippedFor != "") {
			s.Status, s.SkippedFor, s.Message = StepPending, "", ""
		}
	}
	if r.cell, err = r.eng.openCell(ctx, p, r.req.Environ); err != nil {
		return err
	}
	r.cell.gitLimit = r.eng.stepLimit(p)
	p.Status = PlanRunning
	if err := r.eng.save(ctx, p); err != nil {
		return err
	}
	r.send(Update{Kind: UpdatePlan})
	runErr := r.steps(ctx)
	// Whatever happened, what is known is written, and no process stays.
	after := context.WithoutCancel(ctx)
	closeErr := r.cell.close(after, false)
	if fault.Is(closeErr, fault.Conflict) {
		closeErr = nil // a shell of the person's own is live; the holder stays for it
	}
	switch {
	case runErr != nil && slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Status == StepRunning }):
		// Stays running: with its lock gone it reads as interrupted, and is repaired.
	case runErr != nil:
		p.Status = PlanInterrupted
	default:
		p.Status = worst(p.Steps)
	}
	err = errors.Join(runErr, closeErr, r.eng.record(after, p, "run.ended", map[string]any{"status": p.Status}))
	r.send(Update{Kind: UpdatePlan})
	return err
}

// worst is the status of a plan whose steps have run: one step that did not end
// well makes it failed (C120).
func worst(steps []Step) PlanStatus {
	status := PlanReview
	for _, s := range steps {
		switch {
		case s.Status == StepFailed:
			return PlanFailed
		case s.Status == StepPending, s.Status == StepRunning:
			status = PlanInterrupted
		}
	}
	return status
}

// steps runs what is ready until nothing is. Which step is ready is the DAG's
// word, the same that plan and ready print (C114).
func (r *runner) steps(ctx context.Context) error {
	p := r.plan
	failed := "" // the first step that failed
	for {
		if err := context.Cause(ctx); err != nil {
			return canceled(err)
		}
		ready := p.Ticket.Dag.Ready(r.readiness)
		if len(ready) == 0 || (failed != "" && p.Options.OnFailure != "continue") {
			break
		}
		s, err := p.step(ready[0])
		if err != nil {
			return err
		}
		if s.Group {
			s.Status = StepDone
			r.report(s)
			continue
		}
		if err := r.step(ctx, s); err != nil {
			return err
		}
		if s.Status == StepFailed && failed == "" {
			failed = s.ID
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Status != StepPending {
			continue
		}
		s.Status = StepSkipped
		if s.SkippedFor = r.blockedBy(s); s.SkippedFor != "" {
			s.Message = "skipped because of " + s.SkippedFor
		} else {
			s.SkippedFor, s.Message = failed, "not started, because "+failed+" failed"
		}
		r.report(s)
	}
	return r.eng.save(ctx, p)
}

// readiness tells the DAG where a step of this plan stands.
func (r *runner) readiness(id string) ticket.Status {
	i, ok := r.at[id]
	if !ok {
		return ticket.StatusMet // the prerequisites root
	}
	switch r.plan.Steps[i].Status {
	case StepDone, StepCanceled:
		return ticket.StatusMet
	case StepRunning:
		return ticket.StatusRunning
	case StepFailed, StepSkipped:
		return ticket.StatusUnmet
	case StepPending:
	}
	return ticket.StatusWaiting
}

// blockedBy returns the step at the root of why s cannot run, or "".
func (r *runner) blockedBy(s *Step) string {
	for _, d := range s.DependsOn {
		i, ok := r.at[d]
		if !ok {
			continue
		}
		t := &r.plan.Steps[i]
		switch {
		case t.Status == StepDone, t.Status == StepCanceled:
			continue
		case t.SkippedFor != "":
			return t.SkippedFor
		}
		return cmp.Or(r.blockedBy(t), t.ID)
	}
	return ""
}

func canceled(cause error) error {
	if fault.CodeOf(cause) == fault.Canceled {
		return fault.Wrap(fault.Canceled, "run", cause)
	}
	return fault.New(fault.Canceled, "run", "interrupted").WithCause(cause)
}

func (r *runner) send(u Update) {
	u.At, u.Plan = r.eng.deps.Now(), r.plan
	r.req.Observe.send(u)
}

func (r *runner) report(s *Step) {
	c := *s
	r.send(Update{Kind: UpdateStep, Step: &c})
}
