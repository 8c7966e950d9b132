package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

func newRecoverCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "recover [PLAN]",
		Short: "Repair plans after a crash: old state or new, nothing between",
		Long: `Repair one plan, or all that need it, after a crash or power loss: an apply that was
decided is carried to its end, one that was not is dropped, and what no plan owns is
swept. Work is never removed. It is safe to run at any time, any number of times.`,
		Args:              planArg,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRecover(cmd.Context(), d, first(args))
		},
	}
}

func runRecover(ctx context.Context, d *deps, ref string) error {
	svc, err := d.service(ctx)
	if err != nil {
		return err
	}
	id := ""
	if ref != "" {
		t, err := d.find(ctx, ref)
		if err != nil {
			return err
		}
		id = t.plan.ID
	}
	rep, err := svc.Recover(ctx, id)
	if err != nil {
		return err
	}
	if rep.Plans == nil {
		rep.Plans = []engine.RecoveredPlan{}
	}
	var failed []string
	broken, hint := 0, "both versions are kept; look at the paths named, then run ambit recover again"
	for _, p := range rep.Plans {
		if p.Error != "" {
			if broken++; p.Hint != "" {
				hint = p.Hint
			}
			failed = append(append(failed, p.Plan+": "+p.Error), p.Paths...)
		}
	}
	var failure error
	if len(failed) > 0 {
		failure = fault.New(fault.Conflict, "recover", "%s could not be repaired", plural(broken, "plan")).
			WithPaths(failed...).WithHint("%s", hint)
	}
	if d.json {
		if failure != nil {
			return &withFields{failure, rep}
		}
		return d.emit(rep, exitDone)
	}
	for _, p := range rep.Plans {
		if p.Error == "" {
			fmt.Fprintf(d.stdout, "%s  %s → %s  %s\n", p.Plan, p.Was, p.Is, visible(p.Action))
		}
	}
	for _, s := range rep.Swept {
		fmt.Fprintf(d.stdout, "swept: %s\n", visible(s))
	}
	if len(rep.Plans) == 0 && len(rep.Swept) == 0 {
		fmt.Fprintln(d.stdout, "nothing to recover")
	}
	return failure
}
