package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newRestoreCheckpointCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "restore-checkpoint [PLAN] NAME",
		Short: "Return a plan's sandboxes to a checkpoint",
		Long: `Return a plan's sandboxes to a checkpoint, exactly. What they are now is kept as a
checkpoint of its own. The name creation stands for the state right after they were made.`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 1, 2:
				return nil
			case 0:
				return usagef(cmd, "no checkpoint was named").withHint("ambit status lists them")
			}
			return usagef(cmd, "restore-checkpoint takes a plan and a checkpoint, and got %d arguments", len(args))
		},
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			ref := ""
			if len(args) == 2 {
				ref = args[0]
			}
			return runRestoreCheckpoint(cmd.Context(), d, ref, args[len(args)-1])
		},
	}
}

func runRestoreCheckpoint(ctx context.Context, d *deps, ref, name string) error {
	t, err := d.find(ctx, ref)
	if err != nil {
		return err
	}
	p, err := t.svc.RestoreCheckpoint(ctx, t.plan.ID, name)
	if err != nil {
		return err
	}
	if d.json {
		return d.emit(checkpointObject{p, name}, exitDone)
	}
	fmt.Fprintf(d.stderr, "%s is at checkpoint %s; what it was before is kept as a checkpoint, too\n", p.ID, visible(name))
	return nil
}
