package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newRootCmd builds the command tree for one command line.
func newRootCmd(d *deps) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:           "ambit",
		Short:         "Hand real resources to agents and tools; get back a reviewed change or nothing",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			if version {
				return runVersion(d)
			}
			return runFront(d)
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(d.stdin)
	root.SetOut(d.stdout)
	root.SetErr(d.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(d.help)
	root.SetHelpCommand(newHelpCmd(d))
	root.PersistentFlags().BoolVar(&d.json, "json", d.json, "print exactly one JSON object on stdout and ask nothing")
	root.Flags().BoolVar(&version, "version", false, "print the version, as ambit version does")
	root.PersistentFlags().BoolVar(&d.noPager, "no-pager", false, "print long output directly")
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"job", "The job:", []*cobra.Command{
			newTryCmd(d), newRunCmd(d), newStatusCmd(d), newDiffCmd(d), newApplyCmd(d), newDiscardCmd(d), newUndoCmd(d), newDoctorCmd(d),
		}},
		{"plans", "Plans, from inside and outside:", []*cobra.Command{
			newPsCmd(d), newLogsCmd(d), newExecCmd(d), newShellCmd(d), newCheckpointCmd(d), newRestoreCheckpointCmd(d), newRestoreCmd(d), newRecoverCmd(d),
		}},
		{"tickets", "Tickets, without running anything:", []*cobra.Command{
			newLintCmd(d), newDagCmd(d), newPlanCmd(d), newHandoffCmd(d), newBoundaryCmd(d),
		}},
		{"ambit", "ambit itself:", []*cobra.Command{newVersionCmd(d), newCompletionCmd(d)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			c.Flags().SortFlags = false
			c.DisableFlagsInUseLine = true
			c.Args = named(c.Args)
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("ambit")
	return root
}

// front are the commands of the first screen, in the order in which one meets them.
var front = []struct{ name, line string }{
	{"try", "run any command in a throw-away sandbox of this directory"},
	{"run", "run a ticket's steps in sandboxes, and stop for review"},
	{"status", "see where a plan stands"},
	{"diff", "see everything that a plan would change"},
	{"apply", "carry it into the real resources, all of it or nothing"},
	{"discard", "throw it away (restore brings it back)"},
	{"undo", "reverse an apply"},
	{"doctor", "see what this machine can do, and what to mend"},
}

// runFront is ambit without a word: one screen.
func runFront(d *deps) error {
	if d.json {
		type line struct {
			Name  string `json:"name"`
			Short string `json:"short"`
		}
		var lines []line
		for _, f := range front {
			lines = append(lines, line{f.name, f.line})
		}
		return d.emit(struct {
			Commands []line `json:"commands"`
		}{lines}, exitDone)
	}
	st := d.styleFor(d.stdout)
	var b strings.Builder
	b.WriteString("ambit hands real directories and repositories to agents and tools in a sandbox,\n" +
		"and brings back one reviewed change, or nothing at all.\n\n")
	for _, f := range front {
		fmt.Fprintf(&b, "  %s %s\n", st.bold(pad("ambit "+f.name, 15)), f.line)
	}
	b.WriteString("\nStart here:  " + st.bold("ambit try -- make test") + "      nothing of yours changes before you say apply\n" +
		"Then:        " + st.bold("ambit run ticket.md -- CMD") + "  a checklist, step by step\n" +
		"\nAll commands: ambit help    One command: ambit help COMMAND\n")
	_, err := io.WriteString(d.stdout, b.String())
	return err
}

// help prints a command's help on stdout; with --json as one object.
func (d *deps) help(cmd *cobra.Command, _ []string) {
	if d.json {
		type flag struct {
			Name    string `json:"name"`
			Usage   string `json:"usage"`
			Default string `json:"default,omitempty"`
		}
		type command struct {
			Name  string `json:"name"`
			Short string `json:"short"`
		}
		o := struct {
			Command  string    `json:"command"`
			Usage    string    `json:"usage"`
			Short    string    `json:"short"`
			Long     string    `json:"long,omitempty"`
			Flags    []flag    `json:"flags"`
			Commands []command `json:"commands"`
		}{Command: cmd.CommandPath(), Usage: cmd.UseLine(), Short: cmd.Short, Long: cmd.Long, Flags: []flag{}, Commands: []command{}}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			o.Flags = append(o.Flags, flag{f.Name, f.Usage, f.DefValue})
		})
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				o.Commands = append(o.Commands, command{c.Name(), c.Short})
			}
		}
		_ = d.emit(o, exitDone)
		return
	}
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(d.stdout, "%s\n\n%s", strings.TrimSpace(text), cmd.UsageString())
}

// newHelpCmd is cobra's help command with our words for a wrong name.
func newHelpCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 0 {
				d.help(root, nil)
				return nil
			}
			found, rest, err := root.Find(args)
			if err != nil || found == root || len(rest) > 0 {
				return unknownCommand(root, args[0])
			}
			found.InitDefaultHelpFlag()
			d.help(found, nil)
			return nil
		},
	}
}
