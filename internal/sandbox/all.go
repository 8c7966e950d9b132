package sandbox

import (
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox/copytree"
	"github.com/ambit-run/ambit/internal/sandbox/none"
	"github.com/ambit-run/ambit/internal/sandbox/overlay"
	"github.com/ambit-run/ambit/internal/sandbox/worktree"
)

// Deps are what strategies work with.
type Deps struct {
	Git *gitx.Git // nil where there is none: then checkouts cannot be isolated
	// Intercept fails or ends the process at a file-system call: for tests.
	Intercept fsop.Intercept
}

// All returns every strategy, in the order in which auto tries them.
func All(d Deps) []engine.Strategy {
	copies := copytree.Options{Git: d.Git, Intercept: d.Intercept}
	return []engine.Strategy{
		overlay.New(overlay.Options{Git: d.Git, Intercept: d.Intercept}),
		worktree.New(worktree.Options{Git: d.Git, Intercept: d.Intercept}),
		copytree.New(engine.StrategyCopyOnWrite, copies),
		copytree.New(engine.StrategyFilesystemCopy, copies),
		none.New(),
	}
}
