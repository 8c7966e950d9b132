package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/boundary"
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

// readable is a kind of file that a person hands in by name or on stdin.
type readable struct {
	op, what, hint, stdin string
	limit                 int64 // one byte more than it may have, so that its parser sees the excess
}

var (
	ticketFile = readable{
		op: "read ticket", what: "a ticket", hint: "a ticket is a Markdown file, or a folder of them; - reads stdin",
		stdin: "write it as … - < ticket.md", limit: ticket.DefaultMaxBytes + 1,
	}
	specFile = readable{
		op: "read spec", what: "a spec", hint: "a spec is what ambit boundary spec prints; - reads stdin",
		stdin: "write it as … --spec - < spec.json", limit: boundary.MaxSpecBytes + 1,
	}
)

// read reads such a file, or stdin for "-". path is absolute, "" for stdin.
func (d *deps) read(k readable, name, dir string) (src []byte, path string, err error) {
	if name != "-" {
		path = absolute(dir, name)
		src, err = readRegular(k, name, path)
		if f := fault.As(err); err != nil && f.Code == fault.NotFound {
			if near := nearby(name, path); near != "" {
				err = f.WithHint("did you mean %s?", near)
			}
		}
		return src, path, err
	}
	if terminalOf(d.stdin) != nil {
		return nil, "", &usageError{message: k.what + " from stdin needs a pipe or file, and stdin is a terminal", hint: k.stdin}
	}
	if src, err = io.ReadAll(io.LimitReader(d.stdin, k.limit)); err != nil {
		return nil, "", fileFault(k.op, name, err)
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
	case errors.Is(err, syscall.ELOOP):
		return fault.New(fault.Invalid, op, "%s is a link that leads to itself, or through too many others", name).WithCause(err).
			WithHint("name the file itself; ls -l %s shows where the link leads", name)
	}
	return fault.New(fault.Unavailable, op, "%s cannot be read", name).WithCause(err)
}
