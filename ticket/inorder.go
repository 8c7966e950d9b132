package ticket

import (
	"slices"

	"github.com/ambit-run/ambit/internal/topo"
)

// boundary says why the second of two tasks that follow each other in a list waits
// for the first; together, if it does not: they may run side by side.
type boundary func(before, after *Task) (why Reason, together bool)

// inOrder makes the tasks run in the order of the list: at each level of nesting
// one after another, but for those that run together. A declared dependency is
// stronger than the list: a task that waits for a later one moves behind it.
func (l *linker) inOrder(between boundary) {
	order := l.settled()
	top := make([]int, 0, len(l.t.Tasks))
	for i := range l.t.Tasks {
		t := &l.t.Tasks[i]
		if t.Parent == 0 {
			top = append(top, t.Index)
		}
		l.sequence(t.Index, t.Children, order, between)
	}
	l.sequence(0, top, order, between)
}

func (l *linker) sequence(parent int, siblings, order []int, between boundary) {
	if len(siblings) < 2 {
		return
	}
	siblings = slices.Clone(siblings)
	slices.SortFunc(siblings, func(a, b int) int { return order[a-1] - order[b-1] })
	s := Sequence{Children: true, Parent: parent, Batches: []Batch{{Tasks: siblings[:1:1]}}}
	for k, i := range siblings[1:] {
		why, together := between(&l.t.Tasks[siblings[k]-1], &l.t.Tasks[i-1])
		if together {
			last := &s.Batches[len(s.Batches)-1]
			last.Tasks = append(last.Tasks, i)
			continue
		}
		s.Batches = append(s.Batches, Batch{Tasks: []int{i}, Why: why})
	}
	if len(s.Batches) > 1 {
		l.t.Sequences = append(l.t.Sequences, s)
	}
}

// settled returns the place of each task in an order in which none comes before
// what it declares to wait for, and that is otherwise the order of the list. It
// reports the tasks that had to move. Of a cycle it makes nothing: Build reports
// that with its lines.
func (l *linker) settled() []int {
	tasks := l.t.Tasks
	place := make([]int, len(tasks))
	for i := range place {
		place[i] = i
	}
	lifted := make([][]int, len(tasks))
	forward := false
	lift := func(from, to int) {
		a, b := l.besides(from, to)
		if a != b {
			lifted[a-1] = append(lifted[a-1], b-1)
			forward = forward || b > a
		}
	}
	for i := range tasks {
		for _, r := range tasks[i].DependsOn {
			if r.Task > 0 {
				lift(i+1, r.Task)
			}
		}
	}
	for _, s := range l.t.Sequences {
		for k := 1; k < len(s.Batches); k++ {
			first, then := s.Batches[k-1].Tasks, s.Batches[k].Tasks
			if slices.Max(first) < slices.Min(then) {
				continue // as in the list
			}
			for _, a := range then {
				for _, b := range first {
					lift(a, b)
				}
			}
		}
	}
	if !forward {
		return place
	}
	res := topo.SortNumbers(len(tasks), func(i int) []int { return lifted[i] }, nil)
	if len(res.Cycle) > 0 {
		return place
	}
	var moved []int
	for p, i := range res.Order {
		place[i] = p
		for _, b := range lifted[i] {
			if b > i {
				moved = append(moved, tasks[i].Line)
				break
			}
		}
	}
	slices.Sort(moved)
	l.rep.note(moved[0], 0, finding{
		summary: count(len(moved), "task") + " moved behind a later one of the list, which " + map[bool]string{true: "it waits", false: "they wait"}[len(moved) == 1] + " for",
		detail:  lineList(moved),
	})
	return place
}

// besides returns the tasks at one level of nesting in which two tasks lie; the
// same twice if one lies in the other.
func (l *linker) besides(a, b int) (int, int) {
	tasks := l.t.Tasks
	depth := func(i int) (n int) {
		for p := tasks[i-1].Parent; p > 0; p = tasks[p-1].Parent {
			n++
		}
		return n
	}
	da, db := depth(a), depth(b)
	for ; da > db; da-- {
		a = tasks[a-1].Parent
	}
	for ; db > da; db-- {
		b = tasks[b-1].Parent
	}
	for a != b && tasks[a-1].Parent != tasks[b-1].Parent {
		a, b = tasks[a-1].Parent, tasks[b-1].Parent
	}
	return a, b
}
