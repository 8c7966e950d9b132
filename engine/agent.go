package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// checkAgent looks for the agent's program before anything is made, so that a name
// that is nowhere does not come out after half of the steps. It only says no where
// that is sure: a program that is there may still be refused inside, and one with a
// path, or in a folder of a resource, may be what a step makes.
func (e *Engine) checkAgent(req StageRequest, rs []Resource) error {
	if len(req.Agent) == 0 || len(ticket.CheckRunnable(req.Dag, false)) == 0 {
		return nil // none given, or none needed
	}
	name := req.Agent[0]
	path := lookup(e.commandEnv(&Plan{Options: req.Options}, req.Environ, nil, nil), "PATH")
	if name == "" || path == "" || strings.ContainsAny(name, "/{") {
		return nil
	}
	for dir := range strings.SplitSeq(path, ":") {
		if !filepath.IsAbs(dir) || slices.ContainsFunc(rs, func(r Resource) bool { return within(r.Path, filepath.Clean(dir)) }) {
			return nil // found in the sandbox, then
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return nil
		}
	}
	return fault.New(fault.NotFound, "stage", "there is no command %s in PATH, and steps without a command of their own would run it", name).
		WithHint("check the spelling after --, or give its path; --env PATH=… names other folders")
}
