package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/typo"
)

// usageError is a command line that cannot be understood. Its exit code is 2,
// its JSON code "usage".
type usageError struct {
	cmd     *cobra.Command
	message string
	hint    string
}

func (e *usageError) Error() string { return e.message }

func usagef(cmd *cobra.Command, format string, args ...any) *usageError {
	return &usageError{cmd: cmd, message: fmt.Sprintf(format, args...)}
}

func (e *usageError) withHint(format string, args ...any) *usageError {
	e.hint = fmt.Sprintf(format, args...)
	return e
}

// flagError turns what the flag parser found into a usage error that names what
// was probably meant, with that flag's line of help.
func flagError(cmd *cobra.Command, err error) error {
	var f *fault.Error
	if errors.As(err, &f) { // a value that a later version knows
		return f
	}
	e := &usageError{cmd: cmd, message: err.Error()}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		var value *pflag.InvalidValueError
		if errors.As(err, &value) {
			e.message = fmt.Sprintf("--%s: %v", value.GetFlag().Name, value.Unwrap())
			e.hint = flagLine(value.GetFlag())
		}
		var missing *pflag.ValueRequiredError
		if errors.As(err, &missing) {
			e.message = fmt.Sprintf("--%s needs a value", missing.GetFlag().Name)
			e.hint = flagLine(missing.GetFlag())
		}
		return e
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() == "" {
		e.message = "unknown flag --" + name
		if near := typo.Nearest(name, names); near != "" {
			e.hint = "did you mean " + flagLine(cmd.Flags().Lookup(near)) + "?"
		}
	} else {
		e.message = "unknown flag -" + name
	}
	return e
}

// flagLine is one flag's line of help.
func flagLine(f *pflag.Flag) string {
	name, text := pflag.UnquoteUsage(f)
	line := "--" + f.Name
	if name != "" {
		line += " " + name
	}
	return line + " (" + text + ")"
}

// exclusive refuses flags that say different things.
func exclusive(cmd *cobra.Command, names ...string) error {
	var set []string
	for _, n := range names {
		if cmd.Flags().Changed(n) {
			set = append(set, "--"+n)
		}
	}
	if len(set) > 1 {
		return usagef(cmd, "%s exclude each other", strings.Join(set, " and ")).withHint("choose one")
	}
	return nil
}

// named refuses an empty argument before "--": it comes of a variable that is not
// set, and must not mean "the newest plan" or "this folder".
func named(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		before, _ := split(cmd, given)
		if slices.Contains(before, "") {
			return usagef(cmd, "%s got an empty argument", cmd.Name()).withHint("is a variable not set? Leave the argument out, or name what is meant")
		}
		if args == nil {
			return nil
		}
		return args(cmd, given)
	}
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef(cmd, "%s takes no arguments, and got %q", cmd.Name(), args[0])
	}
	return nil
}

// planArg takes at most one PLAN and nothing after "--".
func planArg(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() >= 0 && len(args) > cmd.ArgsLenAtDash() {
		return usagef(cmd, "%s takes nothing after --", cmd.Name())
	}
	if len(args) > 1 {
		return usagef(cmd, "%s takes one plan, and got %d arguments", cmd.Name(), len(args))
	}
	return nil
}

// split cuts the arguments at "--".
func split(cmd *cobra.Command, args []string) (before, after []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at], args[at:]
}

// planAndFiles takes [PLAN] [-- FILE…].
func planAndFiles(cmd *cobra.Command, args []string) error {
	before, files := split(cmd, args)
	if slices.Contains(files, "") {
		return usagef(cmd, "%s got an empty file name after --", cmd.Name()).withHint("is a variable not set? . is the folder around you")
	}
	if len(before) > 1 {
		return usagef(cmd, "%s takes one plan, and got %d arguments before --", cmd.Name(), len(before)).
			withHint("files come after --: ambit %s %s -- %s", cmd.Name(), before[0], strings.Join(before[1:], " "))
	}
	return nil
}

// unknownCommand is the answer to a word that is none of a command's commands.
func unknownCommand(parent *cobra.Command, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	e := usagef(parent, "unknown command %q", name)
	if near := typo.Nearest(name, names); near != "" {
		return e.withHint("did you mean %s %s?", parent.CommandPath(), near)
	}
	return e.withHint("the commands are: %s", strings.Join(names, ", "))
}
