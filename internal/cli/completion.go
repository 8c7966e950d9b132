package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for your shell",
		Long: `Print a completion script for your shell. It completes commands, flags and plan ids.

  bash:  source <(ambit completion bash)
  zsh:   ambit completion zsh > "${fpath[1]}/_ambit"
  fish:  ambit completion fish > ~/.config/fish/completions/ambit.fish`,
		ValidArgs: shells,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef(cmd, "completion takes the name of a shell").withHint("one of: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runCompletion(d, cmd, args[0]) },
	}
}

// completionObject is the JSON of completion.
type completionObject struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func runCompletion(d *deps, cmd *cobra.Command, shell string) error {
	var b bytes.Buffer
	var err error
	root := cmd.Root()
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&b, true)
	case "zsh":
		err = root.GenZshCompletion(&b)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&b)
	default:
		return usagef(cmd, "no completion for %s", visible(shell)).withHint("one of: %s", strings.Join(shells, ", "))
	}
	if err != nil {
		return fault.Wrap(fault.Internal, "write completion", err)
	}
	if d.json {
		return d.emit(completionObject{shell, b.String()}, exitDone)
	}
	_, err = fmt.Fprint(d.stdout, b.String())
	return err
}

// completePlans offers plan ids with their titles.
func (d *deps) completePlans(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	svc, err := d.service(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	plans, err := svc.Plans(cmd.Context(), engine.PlanQuery{IDPrefix: prefix})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []cobra.Completion
	for _, p := range plans {
		out = append(out, cobra.CompletionWithDesc(p.ID, string(p.Status)+", "+visible(title(p))))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
