package cli

import "github.com/spf13/cobra"

func newShellCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "shell [PLAN]",
		Short: "Open your shell inside a plan's sandbox",
		Long: `Open your shell inside a plan's sandbox, with the plan's confinement. What you change
becomes part of the plan. Without a terminal the shell reads its commands from stdin.
A shell that ends with another code than 0 is a command that failed, as with exec.`,
		Args:              planArg,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExec(cmd.Context(), d, first(args), nil)
		},
	}
}
