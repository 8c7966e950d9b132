package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ambit-run/ambit/fault"
)

// choice is a flag with a closed set of values.
type choice[T ~string] struct {
	value *T
	known []string
	later []string // values that a later version knows
	name  string
}

// choiceFlag adds a flag with a closed set of values to a command, with completion.
func choiceFlag[T ~string](cmd *cobra.Command, value *T, name string, known, later []string, usage string) {
	c := &choice[T]{value: value, known: known, later: later, name: name}
	cmd.Flags().Var(c, name, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

var _ pflag.Value = (*choice[string])(nil)

func (c *choice[T]) String() string { return string(*c.value) }
func (c *choice[T]) Type() string   { return strings.Join(c.known, "|") }

func (c *choice[T]) Set(v string) error {
	switch {
	case slices.Contains(c.known, v):
		*c.value = T(v)
		return nil
	case slices.Contains(c.later, v):
		return fault.New(fault.Unsupported, "", "--%s %s is not supported by this version", c.name, v).
			WithHint("use one of: %s", strings.Join(c.known, ", "))
	}
	return fmt.Errorf("%q is not known; use one of: %s", v, strings.Join(c.known, ", "))
}
