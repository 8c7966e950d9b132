package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// Stage makes the plan of a ticket and its sandboxes. See Service.
func (e *Engine) Stage(ctx context.Context, req StageRequest) (*Plan, error) {
	if req.Ticket == nil || req.Dag == nil {
		return nil, fault.New(fault.Internal, "stage", "no ticket was given")
	}
	if err := ticket.AsError("stage", ticket.CheckRunnable(req.Dag, len(req.Agent) > 0)); err != nil {
		return nil, err
	}
	if ids, met := req.Dag.Prerequisites(); !met {
		return nil, fault.New(fault.Conflict, "stage", "ticket %s depends on other tickets that are not known to be done", req.Ticket.ID).
			WithPaths(ids...).WithHint("finish them first, or say --assume ID for each that is done")
	}
	if err := checkPlaceholders(req.Agent); err != nil {
		return nil, err
	}
	rs, err := e.discover(ctx, req.Dir, req.Spelled, req.Resources)
	if err != nil {
		return nil, err
	}
	opts := req.Options
	if opts.Lower == "" {
		opts.Lower = LowerFrozen
	}
	p, lock, err := e.beginPlan(ctx, "run", req.Ticket.ID, req.Ticket.Objective, req.Dir, opts)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(req.TicketSrc)
	p.Ticket = &TicketRef{
		Path: req.TicketPath, SHA256: hex.EncodeToString(sum[:]),
		ManifestHash: req.Dag.ManifestHash(), Dag: req.Dag,
	}
	p.Agent, p.AgentTTY = req.Agent, req.AgentTTY
	p.Steps = planSteps(req.Dag)
	err = func() error {
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
		return nil, errors.Join(err, e.unstage(ctx, p), lock.unlock(ctx))
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
