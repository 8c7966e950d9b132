package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

type discardOptions struct {
	ref string
	yes bool
}

func newDiscardCmd(d *deps) *cobra.Command {
	o := &discardOptions{}
	cmd := &cobra.Command{
		Use:   "discard [PLAN] [flags]",
		Short: "Throw a plan's changes away",
		Long: `Throw a plan's sandboxes away. They go to the trash, from which ambit restore brings
them back, as long as they are there: 30 days and up to 10 GiB in all, if
trash.max_age and trash.max_bytes say nothing else. Your own files are not touched.`,
		Args:              planArg,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ref = first(args)
			return runDiscard(cmd.Context(), d, o)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "go ahead without a question")
	return cmd
}

// planObject is the JSON of commands whose result is a plan.
type planObject struct {
	Plan *engine.Plan `json:"plan"`
}

func runDiscard(ctx context.Context, d *deps, o *discardOptions) error {
	t, err := d.find(ctx, o.ref)
	if err != nil {
		return err
	}
	if !o.yes {
		if !d.json {
			fmt.Fprintln(d.stderr, planLine(d.styleFor(d.stderr), t.plan, d.now()))
			// A plan that cannot be reviewed (half staged, damaged) can still be discarded.
			if r, err := t.svc.Review(ctx, engine.ReviewRequest{Plan: t.plan.ID, Dir: t.dir}); err == nil {
				if err := d.summary(d.stderr, r, 10); err != nil {
					return err
				}
			}
		}
		yes, err := d.confirm(ctx, "discard", "discard "+t.plan.ID+"?")
		if err != nil {
			return err
		}
		if !yes {
			return declined("discard " + t.plan.ID)
		}
	}
	p, err := t.svc.Discard(ctx, t.plan.ID)
	if err != nil {
		return err
	}
	if d.json {
		return d.emit(planObject{p}, exitDone)
	}
	d.discarded(t.plan, p)
	return nil
}

// discarded says what a discard did, and what it meant for older plans in the trash.
func (d *deps) discarded(was, p *engine.Plan) {
	fmt.Fprintf(d.stderr, "discarded %s; `ambit restore %s` brings it back\n", p.ID, p.ID)
	for _, n := range p.Notices[min(len(was.Notices), len(p.Notices)):] {
		fmt.Fprintf(d.stderr, "ambit: %s\n", visible(n))
	}
}
