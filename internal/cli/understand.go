package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// ticketFlags say how a ticket is read and planned.
type ticketFlags struct {
	grammar    string
	format     string
	assume     []string
	sequential bool
}

// register adds the flags to a command.
func (f *ticketFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	choiceFlag(cmd, &f.grammar, "grammar", ticket.Grammars(), nil, "how the ticket is read (default practical)")
	choiceFlag(cmd, &f.format, "format", ticket.Formats(), nil, "the notation the ticket is in (default auto: whichever it looks like)")
	fl.StringArrayVar(&f.assume, "assume", nil, "take the ticket this one depends on as done, an `ID`; repeatable")
	fl.BoolVar(&f.sequential, "sequential", false, "every step depends on the one before it in the list")
}

// understood is a ticket with its DAG and everything that was found on the way.
type understood struct {
	*ticket.Ticket
	dag    *ticket.Dag // nil if an error was found
	found  []fault.Diagnostic
	src    []byte
	path   string   // absolute, of a file or a folder; "" for stdin and issues
	assume []string // tickets that count as done: said to be, or found to be
}

// err returns the errors among what was found, as one.
func (u *understood) err() error { return ticket.AsError("read ticket", u.found) }

// understand reads a ticket and plans it. An error is about the file; what is
// wrong in it is among what was found.
func (d *deps) understand(ctx context.Context, f *ticketFlags, name, dir string) (*understood, error) {
	in, err := d.ticketInput(ctx, name, dir)
	if err != nil {
		return nil, err
	}
	d.sources = in.texts()
	u := &understood{src: in.src(), path: in.path, assume: f.assume}
	u.Ticket, u.found = in.parse(ticket.Options{Grammar: f.grammar, Format: f.format})
	if fault.HasErrors(u.found) {
		return u, nil
	}
	finished, ambiguous := finishedBefore(u.Ticket, in.path, f.assume)
	if u.found = append(u.found, ambiguous...); len(ambiguous) > 0 {
		return u, nil
	}
	u.assume = append(u.assume[:len(u.assume):len(u.assume)], finished...)
	dag, more := ticket.Build(u.Ticket, ticket.BuildOptions{Sequential: f.sequential, Assume: u.assume})
	u.dag, u.found = dag, append(u.found, more...)
	slices.SortStableFunc(u.found, func(a, b fault.Diagnostic) int {
		if in.folder && a.File != b.File {
			return natural(a.File, b.File)
		}
		if a.Line == 0 || b.Line == 0 { // of the whole file: behind the lines
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return u, nil
}

// oneTicket takes a TICKET and, where most is 2, one argument more.
func oneTicket(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case cmd.ArgsLenAtDash() > 0 && len(args) > cmd.ArgsLenAtDash(): // "-- -x.md" is a file's name
			return usagef(cmd, "%s takes nothing after --", cmd.Name())
		case len(args) == 0:
			return usagef(cmd, "no ticket to look at").withHint("name a Markdown checklist, for example: ambit %s ticket.md; - reads stdin", cmd.Name())
		case len(args) > most && most == 1:
			return usagef(cmd, "%s takes one ticket, and got %d arguments", cmd.Name(), len(args))
		case len(args) > most:
			return usagef(cmd, "%s takes one ticket and a step, and got %d arguments", cmd.Name(), len(args))
		}
		return nil
	}
}
