// Command ambit hands resources to agents and tools in sandboxes and brings back a reviewed change.
package main

import (
	"os"

	"github.com/ambit-run/ambit/internal/cli"
)

func main() { os.Exit(cli.Main()) }
