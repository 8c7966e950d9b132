//go:build linux

package acceptance

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ambit-run/ambit/internal/cli"
)

func TestMain(m *testing.M) {
	// The test binary is ambit, too: a holder that it starts is this program again.
	if code, handled := cli.Reexec(os.Args); handled {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"ambit": func() { os.Exit(cli.Main()) },
	})
}
