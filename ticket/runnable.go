package ticket

import (
	"fmt"
	"slices"

	"github.com/ambit-run/ambit/fault"
)

// Runs reports whether the engine has to do something for a step: it is not done,
// not deferred, no group and not the prerequisites root.
func (n *Node) Runs() bool {
	return n.status() == StatusWaiting && !n.Group && n.Source != SourcePrerequisites
}

// CheckRunnable reports, as one error with their lines, the steps that would run
// and have nothing to run: no command of their own while no agent is given.
// Groups, done and deferred steps, and those that wait for a deferred one, need
// none.
func CheckRunnable(d *Dag, hasAgent bool) []fault.Diagnostic {
	if hasAgent {
		return nil
	}
	held := map[string]bool{}
	for _, id := range d.Held() {
		held[id] = true
	}
	var at []*Node
	for i := range d.Nodes {
		node := &d.Nodes[i]
		if !node.Runs() || node.Command != "" || held[node.ID] {
			continue
		}
		at = append(at, node)
	}
	n := len(at)
	if n == 0 {
		return nil
	}
	slices.SortStableFunc(at, func(x, y *Node) int { return x.Index - y.Index })
	first, file := at[0], d.File
	if first.File != "" {
		file = first.File
	}
	f := fault.Diagnostic{
		Severity: fault.SeverityError, Code: fault.Invalid, File: file, Line: first.Line,
		Summary: fmt.Sprintf("%s nothing to run: no command and no agent", count(n, "step")+map[bool]string{true: " has", false: " have"}[n == 1]),
		Detail:  places(at),
		Hint:    "give an agent after `--`, or indent a ```sh block with the command under each step",
	}
	return []fault.Diagnostic{f}
}
