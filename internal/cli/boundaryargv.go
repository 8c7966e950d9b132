package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/boundary"
)

// engines are the programs that a boundary is rendered for.
var engines = []string{"docker", "podman", "bwrap"}

// argvOptions are the flags of boundary argv.
type argvOptions struct {
	specFlags
	engine   string
	executed bool
	name     string
	original string
	user     string
	rootless bool
}

func newBoundaryArgvCmd(d *deps) *cobra.Command {
	o := &argvOptions{engine: engines[0]}
	cmd := &cobra.Command{
		Use:   "argv [TASK] [flags] [-- CMD…]",
		Short: "Print the command line that carries a boundary out",
		Long: `Print the command line that carries a boundary out, quoted for a shell. Docker's is the
declared form, which renders the spec and nothing else, unless --executed asks for what
would really be run; ambit boundary report lists how they differ. Those of podman and
bubblewrap are always what would be run. Nothing is run.`,
		Example: `  ambit boundary argv M-1002 --workdir /srv/work/M-1002
  ambit boundary argv --spec spec.json --executed
  ambit boundary argv --spec spec.json --engine bwrap`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.engine == engines[0] && !o.executed {
				for _, n := range []string{"original", "user", "rootless"} {
					if cmd.Flags().Changed(n) {
						return usagef(cmd, "--%s is no part of the declared form", n).withHint("add --executed")
					}
				}
			}
			return o.args(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runBoundaryArgv(d, cmd, o, args) },
	}
	fl := cmd.Flags()
	choiceFlag(cmd, &o.engine, "engine", engines, nil, "who would run it")
	fl.BoolVar(&o.executed, "executed", false, "what would really be run, instead of what is declared")
	fl.StringVar(&o.name, "name", "", "the container's `NAME` (default PREFIX-TASK)")
	fl.StringVar(&o.original, "original", "", "show the working tree at this `PATH` inside, too")
	fl.StringVar(&o.user, "user", "", "whom the container runs as, `UID:GID` (default you)")
	fl.BoolVar(&o.rootless, "rootless", false, "the engine runs without root (podman: default unless you are root)")
	o.register(cmd, true)
	return cmd
}

// boundaryArgvObject is the JSON of boundary argv.
type boundaryArgvObject struct {
	Engine    string                `json:"engine"`
	Form      string                `json:"form"`
	Container string                `json:"container"`
	SpecHash  string                `json:"spec_hash"`
	Argv      []string              `json:"argv"`
	Differs   []boundary.Difference `json:"differs"`
	Missing   []boundary.Difference `json:"not_enforced"`
}

func runBoundaryArgv(d *deps, cmd *cobra.Command, o *argvOptions, args []string) error {
	s, err := d.spec(cmd.Context(), cmd, &o.specFlags, args)
	if err != nil {
		return err
	}
	v := boundaryArgvObject{Engine: o.engine, Form: "declared", SpecHash: s.SpecHash, Differs: []boundary.Difference{}, Missing: []boundary.Difference{}}
	if o.engine == engines[0] && !o.executed {
		v.Container = o.name
		if v.Container == "" {
			v.Container = s.ContainerName()
		}
		if v.Argv, err = boundary.DockerArgv(s, o.name); err != nil {
			return err
		}
		d.note("docker refuses the bare rw of this form; --executed prints what would be run")
	} else {
		x, err := rendered(o.engine, s, boundary.Execution{
			Name: o.name, User: o.user, Rootless: o.rootless, Original: o.original, Machine: thisMachine(),
		})
		if err != nil {
			return err
		}
		v.Form, v.Container, v.Argv, v.Differs, v.Missing = "executed", x.Container, x.Argv, x.Differs, x.Missing
	}
	if d.json {
		return d.emit(v, exitDone)
	}
	for _, m := range v.Missing {
		d.note("not enforced: %s: %s", m.What, m.Why)
	}
	_, err = fmt.Fprintln(d.stdout, shellLine(v.Argv))
	return err
}

// rendered asks for the command line of an engine, as you unless somebody else is
// named.
func rendered(engine string, s boundary.Spec, e boundary.Execution) (boundary.Rendered, error) {
	if e.User == "" {
		e.User = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	}
	switch engine {
	case "podman":
		e.Rootless = e.Rootless || os.Getuid() != 0
		return boundary.PodmanArgv(s, e)
	case "bwrap":
		return boundary.BwrapArgv(s, e)
	}
	return boundary.DockerRun(s, e)
}

// shellLine renders a command line for a POSIX shell, an option a line.
func shellLine(argv []string) string {
	var b strings.Builder
	for i, a := range argv {
		switch {
		case i == 0:
		case strings.HasPrefix(a, "--") || a == "-e":
			b.WriteString(" \\\n  ")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(shellWord(a))
	}
	return b.String()
}

// shellWord quotes one word so that a shell reads exactly it, and a terminal shows
// it without obeying it. Bytes that a terminal might obey are written in the form
// $'…', which POSIX has since 2024 and bash, zsh and ksh have had before.
func shellWord(w string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%"
	switch {
	case w != "" && strings.Trim(w, plain) == "":
		return w
	case visible(w) == w:
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(w) {
		switch c := w[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String() + "'"
}
