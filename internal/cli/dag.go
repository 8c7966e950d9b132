package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/ticket"
)

func newDagCmd(d *deps) *cobra.Command {
	var f ticketFlags
	var dot, mermaid, tree bool
	cmd := &cobra.Command{
		Use:   "dag TICKET",
		Short: "Show a ticket as the graph of steps that run would follow",
		Long: `Show which step of a ticket waits for which, and in which waves they could run. Nothing
is run and nothing is written. TICKET - reads stdin. With --json: nodes, edges (from
waits for to), order, waves, ready steps, the next one, and the manifest's hash.`,
		Example: `  ambit dag ticket.md
  ambit dag --mermaid ticket.md
  ambit dag --dot ticket.md | dot -Tsvg > ticket.svg`,
		Args: oneTicket(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := 0
			for _, b := range []bool{dot, mermaid, tree, d.json} {
				if b {
					n++
				}
			}
			if n > 1 {
				return usagef(cmd, "--json, --dot, --mermaid and --tree are four forms of one answer").withHint("say one of them")
			}
			u, err := d.graph(cmd.Context(), &f, args[0])
			if err != nil {
				return err
			}
			switch {
			case d.json:
				return d.emit(u.dag.View(u.found), exitDone)
			case dot:
				_, err = io.WriteString(d.stdout, ticket.DOT(u.dag))
			case mermaid:
				_, err = io.WriteString(d.stdout, ticket.Mermaid(u.dag))
			default:
				err = d.page(func(w io.Writer) error { return d.writeTree(w, u.dag) })
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&tree, "tree", false, "the waves with their steps, for a person (the default)")
	fl.BoolVar(&dot, "dot", false, "for Graphviz")
	fl.BoolVar(&mermaid, "mermaid", false, "for Mermaid, as Markdown viewers draw it")
	f.register(cmd)
	return cmd
}

// graph reads a ticket that has to be planned, and shows what was found in it.
func (d *deps) graph(ctx context.Context, f *ticketFlags, name string) (*understood, error) {
	dir, _, err := d.place()
	if err != nil {
		return nil, err
	}
	u, err := d.understand(ctx, f, name, dir)
	if err != nil {
		return nil, err
	}
	if err := u.err(); err != nil {
		return nil, err
	}
	d.diagnostics(u.found)
	return u, nil
}
