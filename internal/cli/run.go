package cli

import "github.com/spf13/cobra"

func newRunCmd(d *deps) *cobra.Command { return &cobra.Command{Use: "run TICKET [flags] [-- CMD…]"} }
