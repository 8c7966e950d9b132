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
	var lines []int
	var first *Node
	n := 0
	for i := range d.Nodes {
		node := &d.Nodes[i]
		if !node.Runs() || node.Command != "" || held[node.ID] {
			continue
		}
		if n++; first == nil || node.Index < first.Index {
			first = node
		}
		if node.Line > 0 {
			lines = append(lines, node.Line)
		}
	}
	if n == 0 {
		return nil
	}
	slices.Sort(lines)
	f := fault.Diagnostic{
		Severity: fault.SeverityError, Code: fault.Invalid, File: d.File, Line: first.Line,
		Summary: fmt.Sprintf("%s nothing to run: no command and no agent", count(n, "step")+map[bool]string{true: " has", false: " have"}[n == 1]),
		Hint:    "give an agent after `--`, or indent a ```sh block with the command under each step",
	}
	if len(lines) > 0 {
		f.Detail = lineList(lines)
	}
	return []fault.Diagnostic{f}
}
