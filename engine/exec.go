package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
)

// Exec runs a command of the person's own in a plan's sandbox, beside a step if
// one runs. See Service.
func (e *Engine) Exec(ctx context.Context, req ExecRequest) (Exit, error) {
	var exit Exit
	err := e.withShared(ctx, req.Plan, "exec", func(p *Plan) error {
		p = e.present(p)
		switch p.Status {
		case PlanStaging, PlanApplying, PlanUndoing:
			return fault.New(fault.Conflict, "exec", "plan %s is %s", p.ID, p.Status).WithHint("`ambit recover %s` finishes what was begun", p.ID)
		default: // every other plan has sandboxes to run in
		}
		c, err := e.openCell(ctx, p, req.Environ)
		if err != nil {
			return err
		}
		cage, err := c.open(ctx, req.Observe)
		if err != nil {
			return err
		}
		argv := req.Argv
		if len(argv) == 0 {
			sh := lookup(req.Environ, "SHELL")
			if sh == "" {
				sh = "/bin/sh"
			}
			argv = []string{sh}
		}
		dir := c.inside(req.Dir)
		exit, err = cage.Run(ctx, Command{
			Name: "exec " + lastPart(argv[0]), Argv: argv, Dir: dir,
			Env:   e.commandEnv(p, req.Environ, c.entrances, map[string]string{"PWD": dir}),
			Stdin: req.Console.Stdin, Stdout: req.Console.Stdout, Stderr: req.Console.Stderr,
			TTY: req.Console.Terminal != nil, Terminal: req.Console.Terminal,
		})
		return errors.Join(err, c.release())
	})
	return exit, err
}

// Live lists the commands that run in a plan now. See Service.
func (e *Engine) Live(ctx context.Context, plan string) ([]Entry, error) {
	p, err := e.deps.Store.Plan(ctx, plan)
	if err != nil {
		return nil, err
	}
	if p.Rung == "" {
		return nil, nil
	}
	conf, err := e.confiner(p.Rung)
	if err != nil {
		return nil, err
	}
	return conf.Live(ctx, p.Dir)
}

// Log opens what a step printed. See Service.
func (e *Engine) Log(ctx context.Context, plan, step string) (io.ReadCloser, *Step, error) {
	p, err := e.deps.Store.Plan(ctx, plan)
	if err != nil {
		return nil, nil, err
	}
	var s *Step
	if step != "" {
		if s, err = p.step(step); err != nil {
			return nil, nil, err
		}
	} else {
		for i := range p.Steps {
			if p.Steps[i].Log != "" && (s == nil || p.Steps[i].StartedAt.After(s.StartedAt)) {
				s = &p.Steps[i]
			}
		}
	}
	if s == nil || s.Log == "" {
		return nil, nil, fault.New(fault.NotFound, "logs", "plan %s has kept no output", p.ID).
			WithHint("only steps of a ticket keep theirs; `try` prints on your terminal")
	}
	dir := p.Dir
	if p.Status == PlanDiscarded {
		dir = filepath.Join(e.trashDir(), p.ID)
	}
	f, err := os.Open(filepath.Join(dir, s.Log))
	if err != nil {
		return nil, nil, folderFault("logs", err)
	}
	return f, s, nil
}

// Events lists a plan's record. See Service.
func (e *Engine) Events(ctx context.Context, plan string) ([]Event, error) {
	return e.deps.Store.Events(ctx, plan, 0)
}
