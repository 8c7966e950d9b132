//go:build !linux

package conformance

import (
	"os"
	"sort"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// Maker returns every strategy; see the Linux file.
type Maker func(git *gitx.Git, intercept fsop.Intercept) []engine.Strategy

// Main is TestMain of a package that calls Run.
func Main(m *testing.M, _ Maker) { os.Exit(m.Run()) }

// Run cannot test a strategy here.
func Run(t *testing.T, _ Maker, name engine.StrategyName) {
	t.Helper()
	t.Skipf("%s: the suite enters sandboxes through namespaces, which only Linux has", name)
}

// Names lists the strategies of a maker, sorted.
func Names(mk Maker, _ string) []string {
	var out []string
	for _, s := range mk(nil, nil) {
		out = append(out, string(s.Name()))
	}
	sort.Strings(out)
	return out
}
