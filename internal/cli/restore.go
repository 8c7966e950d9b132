package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

func newRestoreCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "restore [PLAN]",
		Short: "Bring a discarded plan back from the trash",
		Long: `Bring a discarded plan back from the trash, with everything its sandboxes held.
Without PLAN: the one of this directory that was discarded last.`,
		Args:              planArg,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRestore(cmd.Context(), d, first(args))
		},
	}
}

func runRestore(ctx context.Context, d *deps, ref string) error {
	t, err := d.findIn(ctx, ref, "discarded", engine.PlanQuery{Status: []engine.PlanStatus{engine.PlanDiscarded}}, func(*engine.Plan) bool { return true })
	if err != nil {
		return err
	}
	p, err := t.svc.Restore(ctx, t.plan.ID)
	if err != nil {
		return err
	}
	if d.json {
		return d.emit(planObject{p}, exitDone)
	}
	fmt.Fprintf(d.stderr, "restored %s (%s)\n", p.ID, p.Status)
	d.commands([][2]string{{"ambit diff " + p.ID, "see the change"}, {"ambit status " + p.ID, "see where it stands"}})
	return nil
}
