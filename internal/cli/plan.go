package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

func newPlanCmd(d *deps) *cobra.Command {
	o := newRunOptions()
	cmd := &cobra.Command{
		Use:   "plan TICKET [flags] [-- CMD…]",
		Short: "Show what run would do, and what keeps it from that",
		Long: `Show what ambit run would do with the same flags: the steps in their waves and why each
waits, the files they claim, the resources and how each would be isolated, what the
commands could reach, and what is missing. Nothing is run, and no plan and no sandbox
is made. TICKET - reads stdin.`,
		Example: `  ambit plan ticket.md
  ambit plan ticket.md -- my-agent --quiet`,
		Args: func(cmd *cobra.Command, args []string) error {
			before, after := split(cmd, args)
			o.ticket, o.agent = first(before), after
			if err := o.checkFlags(cmd); err != nil {
				return err
			}
			return previewArgs(cmd, before, 1)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runPlan(cmd.Context(), d, cmd, o) },
	}
	o.register(cmd)
	return cmd
}

// previewArgs checks the arguments before "--" of a command that takes what run
// takes.
func previewArgs(cmd *cobra.Command, before []string, most int) error {
	switch {
	case len(before) == 0:
		return usagef(cmd, "no ticket to look at").withHint("name a Markdown checklist, for example: ambit %s ticket.md; - reads stdin", cmd.Name())
	case len(before) > most:
		return usagef(cmd, "%s takes %s, and got %d arguments before --", cmd.Name(), map[int]string{1: "one ticket", 2: "a ticket and a step"}[most], len(before)).
			withHint("an agent's command comes after --: ambit %s %s -- CMD", cmd.Name(), before[0])
	}
	return nil
}

// preview asks the engine what run would do. What a person would have to grant is
// among what is missing.
func (d *deps) preview(ctx context.Context, cmd *cobra.Command, o *runOptions) (*engine.Preview, *understood, error) {
	var ungranted []engine.Missing
	d.ungranted = &ungranted
	req, u, err := d.stageRequest(ctx, cmd, o)
	if err != nil {
		return nil, nil, err
	}
	svc, err := d.service(ctx)
	if err != nil {
		return nil, nil, err
	}
	v, err := svc.Preview(ctx, *req)
	if err != nil {
		return nil, nil, err
	}
	v.Missing = append(ungranted, v.Missing...)
	return v, u, nil
}

// previewObject is the JSON of plan.
type previewObject struct {
	Plan         *engine.Plan       `json:"plan"`
	Waves        [][]string         `json:"waves"`
	Edges        []ticket.Edge      `json:"edges"`
	Files        []claim            `json:"files"`
	WithoutFiles []string           `json:"without_files"`
	Missing      []engine.Missing   `json:"missing"`
	Diagnostics  []fault.Diagnostic `json:"diagnostics"`
}

// claim is one file and the steps that name it.
type claim struct {
	Path  string   `json:"path"`
	Steps []string `json:"steps"`
}

// claims returns the files that steps name, and the steps that name none and have
// something to do.
func claims(dag *ticket.Dag) (files []claim, without []string) {
	files, without = []claim{}, []string{}
	at := map[string]int{}
	for i := range dag.Nodes {
		n := &dag.Nodes[i]
		own := append(append([]string(nil), n.Files...), n.Tests...)
		if len(own) == 0 && n.Runs() {
			without = append(without, n.ID)
		}
		for _, path := range own {
			k, ok := at[path]
			if !ok {
				k = len(files)
				at[path], files = k, append(files, claim{Path: path})
			}
			if s := files[k].Steps; len(s) == 0 || s[len(s)-1] != n.ID {
				files[k].Steps = append(files[k].Steps, n.ID)
			}
		}
	}
	return files, without
}

func runPlan(ctx context.Context, d *deps, cmd *cobra.Command, o *runOptions) error {
	v, u, err := d.preview(ctx, cmd, o)
	if err != nil {
		return err
	}
	files, without := claims(u.dag)
	if d.json {
		out := previewObject{
			Plan: v.Plan, Waves: u.dag.Waves(), Edges: u.dag.Edges(), Files: files, WithoutFiles: without,
			Missing: v.Missing, Diagnostics: u.found,
		}
		if out.Missing == nil {
			out.Missing = []engine.Missing{}
		}
		if out.Diagnostics == nil {
			out.Diagnostics = []fault.Diagnostic{}
		}
		return d.emit(out, exitDone)
	}
	return d.page(func(w io.Writer) error {
		var b strings.Builder
		d.writePlan(&b, d.styleFor(w), v, u, o)
		_, err := io.WriteString(w, b.String())
		return err
	})
}
