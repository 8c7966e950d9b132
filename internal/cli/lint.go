package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/fault"
)

func newLintCmd(d *deps) *cobra.Command {
	var f ticketFlags
	strict := false
	cmd := &cobra.Command{
		Use:   "lint TICKET",
		Short: "Show what ambit reads in a ticket otherwise than it may be meant",
		Long: `Show everything in a ticket that is not read as it may be meant, with file, line and
column: what was understood, what it means, and how to write it. Errors stop a plan,
warnings and notes do not. Nothing is run and nothing is written. TICKET - reads stdin.`,
		Example: `  ambit lint ticket.md
  ambit lint --strict - < ticket.md`,
		Args: oneTicket(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runLint(cmd.Context(), d, &f, args[0], strict) },
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on warnings, too")
	return cmd
}

// lintObject is the JSON of lint, on failure as well.
type lintObject struct {
	File        string             `json:"file"`
	TaskID      string             `json:"task_id"`
	Format      string             `json:"format"`
	Steps       int                `json:"steps"`
	Errors      int                `json:"errors"`
	Warnings    int                `json:"warnings"`
	Notes       int                `json:"notes"`
	Diagnostics []fault.Diagnostic `json:"diagnostics"`
}

func runLint(ctx context.Context, d *deps, f *ticketFlags, name string, strict bool) error {
	dir, _, err := d.place()
	if err != nil {
		return err
	}
	u, err := d.understand(ctx, f, name, dir)
	if err != nil {
		return err
	}
	o := lintObject{File: u.File, TaskID: u.ID, Format: u.Format, Steps: u.steps(), Diagnostics: u.found}
	if o.Diagnostics == nil {
		o.Diagnostics = []fault.Diagnostic{}
	}
	for _, x := range u.found {
		switch x.Severity {
		case fault.SeverityError:
			o.Errors++
		case fault.SeverityWarning:
			o.Warnings++
		case fault.SeverityNote:
			o.Notes++
		}
	}
	err = u.err()
	if err == nil && strict && o.Warnings > 0 {
		err = fault.New(fault.Invalid, "lint", "%s, and --strict was said", plural(o.Warnings, "warning")).WithHint("mend them, or leave out --strict")
	}
	switch {
	case d.json && err != nil:
		return &withFields{err: err, fields: o}
	case d.json:
		return d.emit(o, exitDone)
	}
	st := d.styleFor(d.stdout)
	var b strings.Builder
	for _, x := range u.found {
		writeDiagnostic(&b, st, x, d.sourceLine(x.File, x.Line))
	}
	b.WriteString(st.bold(visible(u.File)) + ": " + u.summary() + "; " + o.counts() + "\n")
	if _, werr := d.stdout.Write([]byte(b.String())); werr != nil {
		return werr
	}
	if err != nil {
		return &exitStatus{exitCode(err)} // everything is said already
	}
	return nil
}

// counts renders "1 error, 2 warnings", or that there is nothing to say.
func (o *lintObject) counts() string {
	var parts []string
	for _, c := range []struct {
		n    int
		noun string
	}{{o.Errors, "error"}, {o.Warnings, "warning"}, {o.Notes, "note"}} {
		if c.n > 0 {
			parts = append(parts, plural(c.n, c.noun))
		}
	}
	if len(parts) == 0 {
		return "nothing to mend"
	}
	return strings.Join(parts, ", ")
}

// steps is how many steps the ticket has. Groups, and a file of a folder, run
// nothing: they do not count, here and at the end of a run.
func (u *understood) steps() (n int) {
	for i := range u.Tasks {
		if !u.Tasks[i].Group() {
			n++
		}
	}
	return n
}

// summary renders "3 steps in 2 waves, 1 done".
func (u *understood) summary() string {
	if u.dag == nil {
		return "no plan"
	}
	if len(u.Tasks) == 0 {
		return "no step of its own"
	}
	done := 0
	for i := range u.dag.Nodes {
		if n := &u.dag.Nodes[i]; n.Index > 0 && n.Done && !n.Group {
			done++
		}
	}
	s := plural(u.steps(), "step")
	if n := len(u.dag.Waves()); n > 0 {
		s += " in " + plural(n, "wave")
	}
	if done > 0 {
		s += fmt.Sprintf(", %d done", done)
	}
	return s
}
