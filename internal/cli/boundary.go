package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/boundary"
	"github.com/ambit-run/ambit/fault"
)

func newBoundaryCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "boundary spec|argv|report",
		Short: "Declare the container a task would run in, as data",
		Long: `Declare the container a task would run in, as data: its mounts, limits, environment and
privileges, a hash that binds them, the command lines that would carry it out, and what
each of them leaves out. Nothing is run and nothing is written.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.help(cmd, nil)
			return nil
		},
	}
	for _, c := range []*cobra.Command{newBoundarySpecCmd(d), newBoundaryArgvCmd(d), newBoundaryReportCmd(d)} {
		c.Flags().SortFlags = false
		c.DisableFlagsInUseLine = true
		cmd.AddCommand(c)
	}
	return cmd
}

// specFlags say which boundary is meant: one that is declared here, or one from a
// file.
type specFlags struct {
	ticket, file string
	env          []string
	o            boundary.Options
	workdir      string
}

// declaring are the flags that declare a boundary, which one from a file has already.
var declaring = []string{"ticket", "workdir", "repo", "evidence", "env", "image", "env-prefix", "network", "memory", "cpus", "pids"}

// register adds the flags to a command.
func (f *specFlags) register(cmd *cobra.Command, fromFile bool) {
	fl := cmd.Flags()
	fl.StringVar(&f.workdir, "workdir", "", "the working tree, an absolute `PATH`; the only one that may be written")
	fl.StringVar(&f.o.Repo, "repo", "", "a reference checkout to read, an absolute `PATH`")
	fl.StringVar(&f.o.Evidence, "evidence", "", "an immutable log to read, an absolute `PATH`")
	fl.StringArrayVar(&f.env, "env", nil, "a variable of the container, `K=V`; repeatable")
	fl.StringVar(&f.o.Image, "image", "", "the container's `IMAGE` (default "+boundary.DefaultImage+")")
	fl.StringVar(&f.o.EnvPrefix, "env-prefix", "", "the `PREFIX` of the variable with the task's id and of the container's name (default "+boundary.DefaultEnvPrefix+")")
	choiceFlag(cmd, &f.o.Network, "network", []string{"none", "host"}, []string{"allow"}, "what the container can reach (default none)")
	fl.StringVar(&f.o.Memory, "memory", "", "a `LIMIT` such as 512m (default "+boundary.DefaultMemory+")")
	fl.StringVar(&f.o.CPUs, "cpus", "", "a `NUMBER` of processors such as 1.5 (default "+boundary.DefaultCPUs+")")
	fl.IntVar(&f.o.PIDs, "pids", 0, "a `NUMBER` of processes and threads (default 512)")
	fl.StringVar(&f.ticket, "ticket", "", "take the task's id and image from a `TICKET` instead of TASK")
	if fromFile {
		fl.StringVar(&f.file, "spec", "", "take the boundary from a `FILE` that boundary spec printed; - reads stdin")
	}
}

// args takes [TASK] [-- CMD…].
func (f *specFlags) args(cmd *cobra.Command, args []string) error {
	before, after := split(cmd, args)
	said := slices.DeleteFunc(slices.Clone(declaring), func(n string) bool { return !cmd.Flags().Changed(n) })
	var of []string // what says which task it is
	if len(before) > 0 {
		of = append(of, "TASK")
	}
	for _, n := range []string{"ticket", "spec"} {
		if cmd.Flags().Changed(n) {
			of = append(of, "--"+n)
		}
	}
	switch {
	case len(before) > 1:
		return usagef(cmd, "%s takes one task, and got %d arguments before --", cmd.Name(), len(before))
	case len(of) == 0:
		return usagef(cmd, "no task was named").withHint("for example: ambit boundary %s M-1 --workdir /path/to/tree", cmd.Name())
	case len(of) > 1:
		return usagef(cmd, "%s exclude each other", strings.Join(of, " and ")).withHint("choose one")
	case cmd.Flags().Changed("spec") && len(said) > 0:
		return usagef(cmd, "--spec and --%s exclude each other", said[0]).withHint("a spec from a file is taken as it is")
	case cmd.Flags().Changed("spec") && len(after) > 0:
		return usagef(cmd, "--spec and a command exclude each other").withHint("a spec from a file is taken as it is")
	case !cmd.Flags().Changed("spec") && f.workdir == "":
		return usagef(cmd, "no working tree was named").withHint("--workdir PATH, absolute")
	}
	return nil
}

// spec declares the boundary that flags and arguments mean.
func (d *deps) spec(ctx context.Context, cmd *cobra.Command, f *specFlags, args []string) (boundary.Spec, error) {
	if f.file != "" {
		return d.readSpec(f.file)
	}
	o := f.o
	for _, kv := range f.env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return boundary.Spec{}, usagef(cmd, "--env %s has no value", visible(kv)).
				withHint("a spec says everything itself; write --env %s=VALUE", visible(name))
		}
		o.Environment = append(o.Environment, boundary.Variable{Name: name, Value: value})
	}
	if cmd.Flags().Changed("pids") && o.PIDs == 0 {
		o.PIDs = -1 // 0 is a number that was said, and no limit
	}
	before, after := split(cmd, args)
	if len(after) > 0 {
		o.Command = after
	}
	task := first(before)
	if f.ticket != "" {
		var err error
		if task, err = d.specOfTicket(ctx, f.ticket, &o); err != nil {
			return boundary.Spec{}, err
		}
	}
	return boundary.New(task, f.workdir, o)
}

// specOfTicket takes what a ticket says of its boundary, which is a request: here
// it is declared, and nothing is granted.
func (d *deps) specOfTicket(ctx context.Context, name string, o *boundary.Options) (task string, err error) {
	dir, err := d.dir()
	if err != nil {
		return "", err
	}
	u, err := d.understand(ctx, &ticketFlags{}, name, dir)
	if err != nil {
		return "", err
	}
	if err := u.err(); err != nil {
		return "", err
	}
	switch {
	case u.Image != "" && o.Image == "":
		o.Image = u.Image
		d.note("the ticket asks for image %s; the spec declares it", u.Image)
	case u.Image != "" && u.Image != o.Image:
		d.note("the ticket asks for image %s; the spec declares %s, as you said", u.Image, o.Image)
	}
	if u.Network != "" && u.Network != string(o.Network) && (u.Network != string(boundary.NetworkNone) || o.Network != "") {
		d.note("the ticket asks for network %s; the spec declares what --network says, or none", u.Network)
	}
	return u.ID, nil
}

// readSpec reads a spec from a file, or stdin for "-".
func (d *deps) readSpec(name string) (boundary.Spec, error) {
	dir, err := d.dir()
	if err != nil {
		return boundary.Spec{}, err
	}
	text, _, err := d.read(specFile, name, dir)
	if err != nil {
		return boundary.Spec{}, err
	}
	s, err := boundary.Parse(text)
	if err != nil {
		e := *fault.As(err)
		e.Op = "read " + name
		return s, &e
	}
	return s, nil
}

func newBoundarySpecCmd(d *deps) *cobra.Command {
	f := &specFlags{}
	cmd := &cobra.Command{
		Use:   "spec [TASK] --workdir PATH [flags] [-- CMD…]",
		Short: "Print a declared boundary with its hash",
		Long: `Print, as JSON, the container a task would run in. The working tree appears at
/workspace and is all that may be written; a reference checkout and a log appear
read-only at /repo and /evidence. spec_hash binds every field. CMD is what the
container runs, sleep infinity unless said. The paths need not exist.`,
		Example: `  ambit boundary spec M-1002 --workdir /srv/work/M-1002
  ambit boundary spec --ticket ticket.md --workdir /srv/work/M-1002 --repo /srv/api > spec.json`,
		Args: f.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := d.spec(cmd.Context(), cmd, f, args)
			if err != nil {
				return err
			}
			if d.json {
				return d.emit(s, exitDone)
			}
			return d.indented(s)
		},
	}
	f.register(cmd, false)
	return cmd
}
