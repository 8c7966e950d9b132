//go:build !linux

package overlay

import (
	"context"
	"runtime"

	"github.com/ambit-run/ambit/engine"
)

// Probe says that this system has no overlays.
func (s *Strategy) Probe(context.Context, engine.CreateRequest) (engine.Probe, error) {
	const reason = "kernel overlays in user namespaces exist on Linux only"
	return engine.Probe{Reason: reason, Missing: []string{reason + ", this is " + runtime.GOOS + ": use git_worktree or filesystem_copy"}}, nil
}
