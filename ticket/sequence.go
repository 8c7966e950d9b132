package ticket

import (
	"fmt"
	"slices"
)

// Sequence is an order that a notation implies: batches of tasks, each of which
// begins when the one before has ended. Build turns it into dependencies.
//
// A task stands for everything nested in it. What is done, cancelled or deferred
// is passed over, and so is what waits for a deferred task: a batch waits for the
// last one before it of which something is left to run. A Declared sequence is
// what somebody wrote down as a dependency: there nothing is passed over.
type Sequence struct {
	Batches  []Batch `json:"batches"`
	Declared bool    `json:"declared,omitempty"`
	// Children: the batches hold all children of the task Parent; 0 = all tasks that
	// are not nested.
	Children bool `json:"children,omitempty"`
	Parent   int  `json:"parent,omitempty"`
}

// Batch is the part of a sequence that may run side by side.
type Batch struct {
	Tasks []int  `json:"tasks"` // indices of tasks, ascending
	Why   Reason `json:"why"`   // why it waits for the batch before it
}

// maxFan is how many dependencies are written out between two batches. Where there
// were more, a step that does nothing stands between them: its cost is the sum of
// their sizes and not the product.
const maxFan = 256

// SourceBarrier marks a node that stands between two batches of steps. It does
// nothing, and is met when the first of them are.
const SourceBarrier = "barrier"

// sequencer adds the dependencies of sequences to the nodes of a builder.
type sequencer struct {
	*builder
	held     map[string]bool  // ids of nodes that never run, if what is deferred stays so
	inside   map[int]Sequence // those of the children of a task
	barriers []Node
}

// addSequences adds the declared sequences first: what waits for a deferred task
// because of them is known only then.
func (b *builder) addSequences() {
	if len(b.t.Sequences) == 0 || b.edges > MaxEdges {
		return
	}
	q := &sequencer{builder: b, inside: map[int]Sequence{}}
	for _, s := range b.t.Sequences {
		switch {
		case s.Declared:
			q.add(s)
		case s.Children:
			q.inside[s.Parent] = s
		}
	}
	d := Dag{Nodes: append(slices.Clip(b.nodes), q.barriers...)}
	q.held = map[string]bool{}
	for _, id := range d.Held() {
		q.held[id] = true
	}
	for _, s := range b.t.Sequences {
		if !s.Declared {
			q.add(s)
		}
	}
	b.nodes = append(b.nodes, q.barriers...)
}

func (q *sequencer) add(s Sequence) {
	var before []int
	for k, batch := range s.Batches {
		var starts, ends []int
		for _, i := range batch.Tasks {
			starts = q.starts(starts, i, s.Declared)
			if s.Declared {
				ends = append(ends, i)
			} else {
				ends = q.ends(ends, i, false)
			}
		}
		if len(starts) == 0 || !s.Declared && len(ends) == 0 {
			continue // nothing of it is left
		}
		if len(before) > 0 {
			q.between(before, starts, s.Batches[k].Why)
		}
		if before = ends; q.edges > MaxEdges {
			return
		}
	}
}

func (q *sequencer) node(task int) *Node { return &q.nodes[q.first+task-1] }

// runs reports whether something of the task itself is left to run.
func (q *sequencer) runs(task int) bool {
	n := q.node(task)
	return n.status() == StatusWaiting && !q.held[n.ID]
}

// starts appends the task and those nested in it that have to wait when it has to.
func (q *sequencer) starts(out []int, task int, declared bool) []int {
	if declared || q.runs(task) {
		out = append(out, task)
	}
	had := len(out)
	for _, b := range q.inside[task].Batches { // what waits for the first batch need not wait itself
		for _, c := range b.Tasks {
			out = q.starts(out, c, declared)
		}
		if len(out) > had {
			return out
		}
	}
	for _, c := range q.t.Tasks[task-1].Children {
		out = q.starts(out, c, declared)
	}
	return out
}

// ends appends what of a task and of those nested in it has to be waited for. A
// step waits for the steps nested in it, so these are covered; but not for what is
// left to run below one that never runs, or that is ticked too early.
func (q *sequencer) ends(out []int, task int, covered bool) []int {
	runs := q.runs(task)
	if runs && !covered {
		out = append(out, task)
	}
	for _, c := range q.t.Tasks[task-1].Children {
		out = q.ends(out, c, runs)
	}
	return out
}

// between makes every task of one list wait for every task of the other.
func (q *sequencer) between(first, then []int, why Reason) {
	ids := make([]string, len(first))
	for k, j := range first {
		ids[k] = q.node(j).ID
	}
	if len(first)*len(then) <= max(maxFan, len(first)+len(then)) {
		for _, i := range then {
			q.wait(q.node(i), ids, why)
		}
		return
	}
	gate := Node{
		ID:    fmt.Sprintf("%s:barrier-%d", q.t.ID, len(q.barriers)+1),
		Title: fmt.Sprintf("Between %s and %s", count(len(first), "step"), count(len(then), "step")),
		Files: []string{}, Tests: []string{}, Source: SourceBarrier, Group: true, Done: true,
	}
	for _, j := range first {
		gate.Done = gate.Done && q.node(j).Done
	}
	q.wait(&gate, ids, why)
	for _, i := range then {
		q.wait(q.node(i), []string{gate.ID}, why)
	}
	q.barriers = append(q.barriers, gate)
}

// wait adds what a node does not wait for yet.
func (q *sequencer) wait(n *Node, ids []string, why Reason) {
	set := depSet{list: n.DependsOn, why: n.Reasons}
	for _, id := range ids {
		if id != n.ID {
			set.add(id, why)
		}
	}
	q.edges += len(set.list) - len(n.DependsOn)
	n.DependsOn, n.Reasons = set.list, set.why
}
