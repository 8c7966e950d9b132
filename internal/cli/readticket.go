package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// stageRequest reads the ticket, shows what was found in it, and asks for what
// its front matter requests.
func (d *deps) stageRequest(ctx context.Context, cmd *cobra.Command, o *runOptions) (*engine.StageRequest, *understood, error) {
	dir, spelled, err := d.place()
	if err != nil {
		return nil, nil, err
	}
	opts, err := o.options(d, cmd, 0)
	if err != nil {
		return nil, nil, err
	}
	opts.Tick = o.tick
	opts.OnFailure = pick(o.onFailure, d.cfg.OnFailure)
	if opts.Timeout == 0 {
		opts.Timeout = d.cfg.Timeout
	}
	u, err := d.understand(ctx, &o.ticketFlags, o.ticket, dir)
	if err != nil {
		return nil, nil, err
	}
	if err := u.err(); err != nil {
		return nil, nil, err
	}
	opts.Assume = u.assume
	d.diagnostics(u.found)
	resources, network, err := d.requests(ctx, cmd, o, u.Ticket, u.path, dir, opts.Network)
	if err != nil {
		return nil, nil, err
	}
	opts.Network = network
	return &engine.StageRequest{
		Dir: dir, Spelled: spelled, Resources: resources, Ticket: u.Ticket, TicketPath: u.path, TicketSrc: u.src, Dag: u.dag,
		Scope: o.scope(), Agent: o.agent, AgentTTY: o.tty, Environ: d.environ, Options: opts,
	}, u, nil
}

// readTicket reads a ticket file, or stdin for "-". path is absolute, "" for stdin.
func (d *deps) readTicket(name, dir string) (src []byte, path string, err error) {
	// One byte more than a ticket may have, so that the parser sees the excess.
	const limit = ticket.DefaultMaxBytes + 1
	if name != "-" {
		path = absolute(dir, name)
		src, err = readRegular(name, path, limit)
		return src, path, err
	}
	if terminalOf(d.stdin) != nil {
		return nil, "", &usageError{message: "a ticket from stdin needs a pipe or file, and stdin is a terminal", hint: "write it as … - < ticket.md"}
	}
	if src, err = io.ReadAll(io.LimitReader(d.stdin, limit)); err != nil {
		return nil, "", fileFault("read ticket", name, err)
	}
	return src, "", nil
}

// fileFault is the error of a file of the person's that cannot be read.
func fileFault(op, name string, err error) error {
	switch {
	case os.IsNotExist(err):
		return fault.New(fault.NotFound, op, "there is no file %s", name).WithHint("check the spelling; ls %s", filepath.Dir(name))
	case os.IsPermission(err):
		return fault.New(fault.Denied, op, "%s cannot be read", name).WithCause(err).WithHint("check its permissions")
	}
	return fault.New(fault.Unavailable, op, "%s cannot be read", name).WithCause(err)
}
