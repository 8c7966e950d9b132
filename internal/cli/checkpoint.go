package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

type checkpointOptions struct {
	ref  string
	name string
}

func newCheckpointCmd(d *deps) *cobra.Command {
	o := &checkpointOptions{}
	cmd := &cobra.Command{
		Use:   "checkpoint [PLAN] [flags]",
		Short: "Keep the present state of a plan's sandboxes",
		Long: `Keep the present state of a plan's sandboxes under a name, to which
ambit restore-checkpoint returns exactly. ambit status lists them; steps of run make
their own.`,
		Args:              planArg,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ref = first(args)
			return runCheckpoint(cmd.Context(), d, o)
		},
	}
	cmd.Flags().StringVar(&o.name, "name", "", "`NAME` of the checkpoint (default: the time)")
	return cmd
}

// checkpointObject is the JSON of checkpoint and restore-checkpoint.
type checkpointObject struct {
	Plan       *engine.Plan `json:"plan"`
	Checkpoint string       `json:"checkpoint"`
}

func runCheckpoint(ctx context.Context, d *deps, o *checkpointOptions) error {
	t, err := d.find(ctx, o.ref)
	if err != nil {
		return err
	}
	name := o.name
	if name == "" {
		name = d.now().UTC().Format("20060102T150405")
	}
	p, err := t.svc.Checkpoint(ctx, t.plan.ID, name)
	if err != nil {
		return err
	}
	if d.json {
		return d.emit(checkpointObject{p, name}, exitDone)
	}
	fmt.Fprintf(d.stderr, "kept as checkpoint %s of %s\n", visible(name), p.ID)
	d.commands([][2]string{{"ambit restore-checkpoint " + p.ID + " " + visible(name), "return to it"}})
	return nil
}
