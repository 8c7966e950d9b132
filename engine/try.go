package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// Try runs one command in a throw-away sandbox. See Service.
func (e *Engine) Try(ctx context.Context, req TryRequest) (*TryResult, error) {
	if len(req.Argv) == 0 {
		return nil, fault.New(fault.Invalid, "try", "no command to try").WithHint("ambit try -- make fmt")
	}
	rs, err := e.discover(ctx, req.Dir, req.Spelled, req.Resources)
	if err != nil {
		return nil, err
	}
	opts := req.Options
	if opts.Lower == "" {
		opts.Lower = LowerLive
	}
	p, lock, err := e.beginPlan(ctx, "try", "try", strings.Join(req.Argv, " "), req.Dir, opts)
	if err != nil {
		return nil, err
	}
	res, err := e.try(ctx, p, rs, req)
	return res, errors.Join(err, lock.unlock(ctx))
}

func (e *Engine) try(ctx context.Context, p *Plan, rs []Resource, req TryRequest) (*TryResult, error) {
	if err := e.stage(ctx, p, rs, req.Observe); err != nil {
		return nil, errors.Join(err, e.unstage(ctx, p))
	}
	c, err := e.openCell(ctx, p, req.Environ)
	if err != nil {
		return nil, errors.Join(err, e.unstage(ctx, p))
	}
	cage, err := c.open(ctx, req.Observe)
	if err != nil {
		return nil, errors.Join(err, c.close(ctx, true), e.unstage(ctx, p))
	}
	step := Step{ID: "try", Title: p.Title, Status: StepRunning, StartedAt: e.deps.Now(), Runs: 1, From: CheckpointCreation, To: CheckpointNow}
	p.Steps, p.Status = []Step{step}, PlanRunning
	if err := e.save(ctx, p); err != nil {
		return nil, errors.Join(err, c.close(ctx, true), e.unstage(ctx, p))
	}
	runCtx := ctx
	if p.Options.Timeout > 0 {
		var cancel context.CancelFunc
		runCtx, cancel = context.WithTimeoutCause(ctx, p.Options.Timeout, fault.New(fault.Timeout, "try", "the command took longer than %s", p.Options.Timeout))
		defer cancel()
	}
	exit, runErr := cage.Run(runCtx, Command{
		Name: "try", Argv: req.Argv, Dir: c.inside(req.Dir), Env: e.commandEnv(p, req.Environ, c.entrances, map[string]string{"PWD": c.inside(req.Dir)}),
		Stdin: req.Console.Stdin, Stdout: req.Console.Stdout, Stderr: req.Console.Stderr,
		TTY: req.Console.Terminal != nil, Terminal: req.Console.Terminal,
	})
	if fault.Is(runErr, fault.NotFound) { // there is no such command: nothing ran, nothing is kept
		return nil, errors.Join(runErr, c.close(ctx, true), e.unstage(ctx, p))
	}
	s := &p.Steps[0]
	s.EndedAt, s.Exit = e.deps.Now(), &exit
	switch {
	case runErr != nil && fault.Is(runErr, fault.Canceled):
		s.Status, p.Status, s.Message = StepFailed, PlanInterrupted, "interrupted"
	case runErr != nil:
		s.Status, p.Status, s.Message = StepFailed, PlanFailed, runErr.Error()
	case exit.Code != 0:
		s.Status, p.Status = StepFailed, PlanFailed
	default:
		s.Status, p.Status = StepDone, PlanReview
	}
	after := context.WithoutCancel(ctx)
	err = errors.Join(c.release(), e.record(after, p, "try.ended", exit))
	if runErr != nil {
		return &TryResult{Plan: p, Exit: exit}, errors.Join(runErr, err)
	}
	return &TryResult{Plan: p, Exit: exit}, err
}
