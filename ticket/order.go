package ticket

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/topo"
)

// order sorts the nodes into d. It reports a cycle and returns false if there is
// one.
func (b *builder) order(d *Dag) bool {
	deps := inGraph(b.nodes, b.literal)
	var less func(i, j int) bool // nil: the order of the list
	if b.literal {
		less = func(i, j int) bool { return b.nodes[i].ID < b.nodes[j].ID }
	}
	res := topo.SortNumbers(len(deps), func(i int) []int { return deps[i] }, less)
	if !b.literal && slices.Contains(b.t.DependsOn, b.t.ID) {
		res.Stuck, res.Cycle = []int{0}, []int{0}
	}
	if len(res.Cycle) > 0 {
		b.reportCycle(res)
		return false
	}
	d.Nodes = b.nodes
	if !slices.IsSorted(res.Order) { // most lists are in order already
		d.Nodes = make([]Node, 0, len(b.nodes))
		for _, i := range res.Order {
			d.Nodes = append(d.Nodes, b.nodes[i])
		}
	}
	for i := range d.Nodes {
		d.Nodes[i].Order = i
	}
	return true
}

// maxNamed is how many nodes a cycle's report names.
const maxNamed = 20

func (b *builder) reportCycle(res topo.Result[int]) {
	names := func(nodes []int, sep string, lines bool) string {
		var out []string
		for _, i := range nodes {
			if len(out) == maxNamed {
				out = append(out, fmt.Sprintf("and %d more", len(nodes)-maxNamed))
				break
			}
			s := b.nodes[i].ID
			if lines && b.nodes[i].Line > 0 {
				s += " (" + b.nodes[i].place() + ")"
			}
			out = append(out, s)
		}
		return strings.Join(out, sep)
	}
	stuck := slices.Clone(res.Stuck)
	slices.SortFunc(stuck, func(i, j int) int { return strings.Compare(b.nodes[i].ID, b.nodes[j].ID) })
	first := b.nodes[res.Cycle[0]]
	f := finding{
		file: first.File, code: fault.Conflict,
		summary: "dependency cycle detected in execution graph; unresolved nodes: " + names(stuck, ", ", false),
		detail:  names(append(slices.Clone(res.Cycle), res.Cycle[0]), " depends on ", true),
		hint:    "edit the ticket: remove one of these dependencies",
	}
	line := first.Line
	switch {
	case first.Source == SourcePrerequisites:
		line = b.t.dependsLine
		f.detail = fmt.Sprintf("the ticket %s depends on itself", b.t.ID)
	case len(res.Cycle) == 1:
		f.detail = names(res.Cycle, "", true) + " depends on itself"
	case b.nested(res.Cycle):
		f.hint += " (a task with nested tasks waits for them, and they wait for what it waits for)"
	}
	b.rep.err(line, b.column(&first), f)
}

// column returns where a node's bullet stands in its line; 0 for one without.
func (b *builder) column(n *Node) int {
	if n.Index == 0 {
		return 0
	}
	return b.t.Tasks[n.Index-1].Column
}

// nested reports whether one node of a cycle is nested in another.
func (b *builder) nested(cycle []int) bool {
	ids := map[string]bool{}
	for _, i := range cycle {
		ids[b.nodes[i].ID] = true
	}
	return slices.ContainsFunc(cycle, func(i int) bool { return ids[b.nodes[i].Parent] })
}

// chain makes each node that is left and can run depend on the one before it. A
// link to a done node would hold nothing, one to a deferred node everything.
func (d *Dag) chain() {
	held := map[string]bool{}
	for _, id := range d.Held() {
		held[id] = true
	}
	prev := ""
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Done || n.State == StateDeferred || held[n.ID] {
			continue
		}
		if prev != "" && !slices.Contains(n.DependsOn, prev) {
			n.DependsOn = append(n.DependsOn, prev)
			n.Reasons = append(n.Reasons, Reason{Kind: ReasonSequential})
		}
		prev = n.ID
	}
}

func (b *builder) reportHeld(d *Dag) {
	held := d.Held()
	if len(held) == 0 {
		return
	}
	waits := map[string]bool{}
	for _, id := range held {
		waits[id] = true
	}
	var at []*Node
	for i := range d.Nodes {
		if waits[d.Nodes[i].ID] && d.Nodes[i].Line > 0 {
			at = append(at, &d.Nodes[i])
		}
	}
	if len(at) == 0 {
		return
	}
	slices.SortStableFunc(at, func(x, y *Node) int { return x.Index - y.Index })
	b.rep.warn(at[0].Line, b.column(at[0]), finding{
		file: at[0].File, summary: count(len(held), "step") + " cannot run: waiting for a deferred one",
		detail: places(at),
		hint:   "make the deferred task `[ ]` to run it, or `[-]` to go on without it",
	})
}
