package worktree_test

import (
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
	"github.com/ambit-run/ambit/internal/sandbox/worktree"
)

func maker(git *gitx.Git, intercept fsop.Intercept) []engine.Strategy {
	return []engine.Strategy{worktree.New(worktree.Options{Git: git, Intercept: intercept})}
}

// TestMain lets processes inside a sandbox be this binary; the suite itself runs
// over all strategies together, in the package above.
func TestMain(m *testing.M) { conformance.Main(m, maker) }
