package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

func newExecCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "exec [PLAN] -- CMD…",
		Short: "Run a command of your own inside a plan's sandbox",
		Long: `Run a command of your own inside a plan's sandbox, with the plan's confinement. What
it changes becomes part of the plan. Without PLAN: the newest plan that covers this
directory.`,
		Example: `  ambit exec -- git log --oneline
  ambit exec fix-login-3fz9a -- go test ./...`,
		Args: func(cmd *cobra.Command, args []string) error {
			before, after := split(cmd, args)
			switch {
			case len(after) == 0 && len(before) > 0:
				return usagef(cmd, "no command to run").withHint("write the command after --, for example: ambit exec -- %s", strings.Join(before, " "))
			case len(after) == 0:
				return usagef(cmd, "no command to run").withHint("write the command after --, for example: ambit exec -- git status; ambit shell opens a shell")
			case len(before) > 1:
				return usagef(cmd, "exec takes one plan, and got %d arguments before --", len(before))
			}
			return nil
		},
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, after := split(cmd, args)
			return runExec(cmd.Context(), d, first(before), after)
		},
	}
}

// execObject is the JSON of exec and shell.
type execObject struct {
	Plan string      `json:"plan"`
	Exit engine.Exit `json:"exit"`
}

// runExec runs argv, or for none the person's shell, in a plan.
func runExec(ctx context.Context, d *deps, ref string, argv []string) error {
	t, err := d.find(ctx, ref)
	if err != nil {
		return err
	}
	exit, err := t.svc.Exec(ctx, engine.ExecRequest{
		Plan: t.plan.ID, Argv: argv, Dir: t.dir, Environ: d.environ, Console: d.console(), Observe: d.observer(),
	})
	out := execObject{t.plan.ID, exit}
	if err != nil {
		return &withFields{err, out}
	}
	name := strings.Join(argv, " ")
	if name == "" {
		name = "the shell"
	}
	if exit.Code != 0 {
		return &withFields{&commandFailed{what: visible(name), exit: exit}, out}
	}
	if d.json {
		return d.emit(out, exitDone)
	}
	if len(argv) == 0 {
		fmt.Fprintf(d.stderr, "left %s\n", t.plan.ID)
	}
	return nil
}
