package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

type undoOptions struct {
	ref string
	yes bool
}

func newUndoCmd(d *deps) *cobra.Command {
	o := &undoOptions{}
	cmd := &cobra.Command{
		Use:   "undo [PLAN] [flags]",
		Short: "Reverse an apply",
		Long: `Reverse what of a plan is applied, if the resources still are what it left: all of it,
or, where somebody has built on it since, nothing, with the paths named. The plan and
its sandboxes stay, so that it can be applied again.
Without PLAN: the one of this directory that was applied last.`,
		Args:              planArg,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ref = first(args)
			return runUndo(cmd.Context(), d, o)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "go ahead without a question")
	return cmd
}

func runUndo(ctx context.Context, d *deps, o *undoOptions) error {
	t, err := d.findIn(ctx, o.ref, "applied", engine.PlanQuery{}, reversible)
	if err != nil {
		return err
	}
	if !o.yes {
		if !d.json {
			fmt.Fprintln(d.stderr, planLine(d.styleFor(d.stderr), t.plan, d.now()))
			if n := len(t.plan.Applies); n > 0 {
				a := t.plan.Applies[n-1]
				fmt.Fprintf(d.stderr, "  applied %s ago: %s\n", age(d.now().Sub(a.At)), visible(a.Summary))
			}
		}
		yes, err := d.confirm(ctx, "undo", fmt.Sprintf("undo %s in %s?", t.plan.ID, resourcePaths(t.plan)))
		if err != nil {
			return err
		}
		if !yes {
			return declined("undo " + t.plan.ID)
		}
	}
	p, err := t.svc.Undo(ctx, t.plan.ID)
	if err != nil {
		return err
	}
	if d.json {
		return d.emit(planObject{p}, exitDone)
	}
	fmt.Fprintf(d.stderr, "undone: %s is as it was before %s was applied\n", resourcePaths(p), p.ID)
	d.commands([][2]string{{"ambit apply " + p.ID, "apply it again"}, {"ambit discard " + p.ID, "throw it away"}})
	return nil
}

// reversible reports whether something of the plan is applied: all of it, or a
// selection, with the rest still in review.
func reversible(p *engine.Plan) bool {
	if p.Status == engine.PlanApplied || p.Status == engine.PlanUndoing {
		return true
	}
	return p.Status != engine.PlanDiscarded && slices.ContainsFunc(p.Applies, func(a engine.ApplyRecord) bool { return a.Status == "committed" })
}
