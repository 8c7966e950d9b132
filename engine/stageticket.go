package engine

import (
	"context"
	"errors"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// Stage makes the plan of a ticket and its sandboxes. See Service.
func (e *Engine) Stage(ctx context.Context, req StageRequest) (*Plan, error) {
	if req.Ticket == nil || req.Dag == nil {
		return nil, fault.New(fault.Internal, "stage", "no ticket was given")
	}
	if errs := stageChecks(req); len(errs) > 0 {
		return nil, errs[0]
	}
	rs, err := e.discover(ctx, req.Dir, req.Spelled, req.Resources)
	if err != nil {
		return nil, err
	}
	if err := checkTick(req.Options, req.TicketPath, req.Dag, rs); err != nil {
		return nil, err
	}
	if err := e.checkAgent(req, rs); err != nil {
		return nil, err
	}
	opts := stageOptions(req.Options)
	p, lock, err := e.beginPlan(ctx, "run", req.Ticket.ID, req.Ticket.Objective, req.Dir, opts)
	if err != nil {
		return nil, err
	}
	p.Ticket = ticketRef(req)
	p.Agent, p.AgentTTY = req.Agent, req.AgentTTY
	p.Steps = planSteps(req.Dag)
	p.Scope = scopePaths(req.Ticket.Scope, rs)
	err = func() error {
		waited, err := e.claimScope(ctx, p, req.Scope, req.Observe)
		if err != nil {
			return err
		}
		if waited { // what it waited for may have changed where the resources stand
			if rs, err = e.discover(ctx, req.Dir, req.Spelled, req.Resources); err != nil {
				return err
			}
		}
		if err := e.stage(ctx, p, rs, req.Observe); err != nil {
			return err
		}
		if err := e.writeHandoff(p, req); err != nil {
			return err
		}
		p.Status = PlanReady
		return e.record(ctx, p, "plan.staged", p.Ticket)
	}()
	if err != nil {
		return nil, errors.Join(err, e.unstage(ctx, p), e.releaseScope(ctx, p), lock.unlock(ctx))
	}
	return p, lock.unlock(ctx)
}

// planSteps turns the DAG's nodes, in their order, into steps. Dependencies on
// things outside this ticket never constrain: the prerequisites root, which
// stands for them, was met before staging.
func planSteps(d *ticket.Dag) []Step {
	known := map[string]bool{}
	for i := range d.Nodes {
		if d.Nodes[i].Source != ticket.SourcePrerequisites {
			known[d.Nodes[i].ID] = true
		}
	}
	var steps []Step
	waits := d.InGraph()
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if !known[n.ID] {
			continue
		}
		s := Step{
			ID: n.ID, Title: n.Title, Line: n.Line, Status: StepPending,
			Command: n.Command, Shell: n.Shell, Group: n.Group, Files: append(append([]string(nil), n.Files...), n.Tests...),
		}
		switch {
		case n.State == ticket.StateCancelled:
			s.Status = StepCanceled
		case n.State == ticket.StateDeferred:
			s.Status, s.Message = StepSkipped, "deferred in the ticket"
		case n.Done:
			s.Status, s.Message = StepDone, "done before"
		}
		for _, dep := range waits[i] {
			if known[dep] {
				s.DependsOn = append(s.DependsOn, dep)
			}
		}
		steps = append(steps, s)
	}
	return steps
}
