package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

func newHandoffCmd(d *deps) *cobra.Command {
	o := &runOptions{}
	step, spec := "", ""
	cmd := &cobra.Command{
		Use:   "handoff TICKET [STEP] [flags]",
		Short: "Print what a ticket's steps would be given to read",
		Long: `Print, as JSON, the handoff that the steps of a ticket find in $AMBIT_HANDOFF: the
manifest with its hash, the declared boundary, and the packet with the files that the
ticket names, as they are now. With STEP only that step's files, and its prompt; with
--spec the boundary is that container. A handoff is prepared state, not permission to execute. TICKET - reads stdin.`,
		Example: `  ambit handoff ticket.md
  ambit handoff ticket.md n02`,
		Args: func(cmd *cobra.Command, args []string) error {
			before, after := split(cmd, args)
			o.ticket, o.agent = first(before), after
			if len(before) == 2 {
				step = before[1]
			}
			return previewArgs(cmd, before, 2)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runHandoff(cmd.Context(), d, cmd, o, step, spec) },
	}
	cmd.Flags().StringVar(&spec, "spec", "", "the container it is declared for, a `FILE` that boundary spec printed, as the handoff's sandbox")
	o.ticketFlags.register(cmd)
	o.planFlags.register(cmd)
	return cmd
}

func runHandoff(ctx context.Context, d *deps, cmd *cobra.Command, o *runOptions, step, spec string) error {
	v, u, err := d.preview(ctx, cmd, o)
	if err != nil {
		return err
	}
	if step != "" {
		n, err := theStep(u.dag, step)
		if err != nil {
			return err
		}
		v.Handoff.ForStep(u.dag, n)
	}
	if spec != "" {
		if err := d.sandboxFrom(spec, &v.Handoff); err != nil {
			return err
		}
	}
	if d.json {
		return d.emit(v.Handoff, exitDone)
	}
	return d.indented(v.Handoff)
}

// sandboxFrom makes a declared container the sandbox of a handoff. It has to be that
// of the ticket's task.
func (d *deps) sandboxFrom(file string, p *ticket.Payload) error {
	s, err := d.readSpec(file)
	if err != nil {
		return err
	}
	if s.TaskID != p.TaskID {
		return fault.New(fault.Conflict, "read "+file, "the spec is for task %s, and the ticket is %s", s.TaskID, p.TaskID).
			WithHint("ambit boundary spec --ticket TICKET --workdir PATH declares one for it")
	}
	p.Sandbox = s
	return nil
}

// theStep finds the one step a person means by a word.
func theStep(dag *ticket.Dag, word string) (*ticket.Node, error) {
	found := dag.Find(word)
	switch {
	case len(found) == 0:
		return nil, fault.New(fault.NotFound, "find step", "the ticket has no step %s", word).WithHint("ambit dag shows them")
	case len(found) > 1:
		var ids []string
		for _, n := range found {
			ids = append(ids, n.ID)
		}
		return nil, fault.New(fault.Invalid, "find step", "%s may be one of %s", word, plural(len(ids), "step")).WithPaths(ids...).WithHint("write more of its id")
	}
	return found[0], nil
}
