package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

type logsOptions struct {
	ref    string
	step   string
	follow bool
}

func newLogsCmd(d *deps) *cobra.Command {
	o := &logsOptions{}
	cmd := &cobra.Command{
		Use:   "logs [PLAN[/STEP] | STEP] [STEP] [flags]",
		Short: "Show the output of a step",
		Long: `Show the kept output of a step: the last that ran, unless you name one. Into a pipe
or file the bytes are exact; on a terminal control characters are made harmless.`,
		Example: `  ambit logs
  ambit logs n02-test
  ambit logs -f fix-login-3fz9a`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usagef(cmd, "logs takes a plan and a step, and got %d arguments", len(args))
			}
			return nil
		},
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ref = first(args)
			if len(args) == 2 {
				o.step = args[1]
			}
			if o.follow && d.json {
				return usagef(cmd, "logs --json prints one object, so it cannot follow").withHint("leave out --follow")
			}
			return runLogs(cmd.Context(), d, o)
		},
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the step has ended")
	return cmd
}

// logObject is the JSON of logs. Bytes that are no UTF-8 are replaced.
type logObject struct {
	Plan string       `json:"plan"`
	Step *engine.Step `json:"step"`
	Log  string       `json:"log"`
}

func runLogs(ctx context.Context, d *deps, o *logsOptions) error {
	t, err := d.find(ctx, o.ref)
	if err != nil {
		return err
	}
	if o.step = stepID(t.plan, o.step); o.step == "" {
		o.step = t.step
	}
	log, step, err := t.svc.Log(ctx, t.plan.ID, o.step)
	if err != nil {
		return err
	}
	defer log.Close()
	if d.json {
		text, err := io.ReadAll(log)
		if err != nil {
			return fault.Wrap(fault.Unavailable, "read log", err)
		}
		return d.emit(logObject{t.plan.ID, step, string(text)}, exitDone)
	}
	var sink io.Writer = d.stdout
	var clean *lineCleaner
	if terminalOf(d.stdout) != nil {
		clean = &lineCleaner{line: func(l string) { fmt.Fprintln(d.stdout, l) }}
		sink = clean
	}
	out := bufio.NewWriter(sink)
	for {
		if _, err := io.Copy(out, log); err != nil {
			return fault.Wrap(fault.Unavailable, "read log", err)
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if !o.follow || step.Status != engine.StepRunning {
			break
		}
		// The writer is another process; its end is seen in the store, and what it
		// wrote before that is then read once more.
		if step, err = d.stepNow(ctx, t, step.ID); err != nil {
			return err
		}
	}
	if clean != nil {
		clean.flush()
	}
	return nil
}

// followEvery is how often a followed log is read.
const followEvery = 200 * time.Millisecond

// stepNow waits a moment and reads a step's present state.
func (d *deps) stepNow(ctx context.Context, t target, id string) (*engine.Step, error) {
	timer := time.NewTimer(followEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, fault.Wrap(fault.Canceled, "", context.Cause(ctx))
	case <-timer.C:
	}
	p, err := t.svc.Resolve(ctx, t.plan.ID, t.dir)
	if err != nil {
		return nil, err
	}
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i], nil
		}
	}
	return nil, errors.New("the step is gone from its plan")
}
