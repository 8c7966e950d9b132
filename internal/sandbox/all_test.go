package sandbox_test

import (
	"fmt"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
)

func all(git *gitx.Git, intercept fsop.Intercept) []engine.Strategy {
	return sandbox.All(sandbox.Deps{Git: git, Intercept: intercept})
}

func TestMain(m *testing.M) { conformance.Main(m, all) }

// TestConformance runs over what the command line offers, so that a strategy
// which is offered is tested.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, s := range all(nil, nil) {
		t.Run(string(s.Name()), func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, all, s.Name())
		})
	}
}

// TestO20_EveryNamedStrategyIsListed: names that the engine knows and strategies
// that exist are one set.
func TestO20_EveryNamedStrategyIsListed(t *testing.T) {
	t.Parallel()
	want := fmt.Sprint([]engine.StrategyName{
		engine.StrategyCopyOnWrite, engine.StrategyFilesystemCopy, engine.StrategyGitWorktree, engine.StrategyNone, engine.StrategyOverlay,
	})
	if got := fmt.Sprint(conformance.Names(all, t.TempDir())); got != want {
		t.Errorf("listed are %s, the engine names %s", got, want)
	}
}
