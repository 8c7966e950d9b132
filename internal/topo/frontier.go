package topo

import "slices"

// Frontier tracks which nodes of a graph are free: not settled themselves, and
// everything they wait for is settled. Nodes are numbers from 0 to n-1.
type Frontier struct {
	waits   []int // unsettled dependencies of each node, counted as often as named
	settled []bool
	// The dependants of node i are users[start[i]:start[i+1]], ascending.
	start, users []int
}

// NewFrontier returns the frontier of a graph of n nodes in which nothing is
// settled. deps names what a node waits for; numbers outside the graph constrain
// nothing. It is called twice for each node and its slices are only read.
func NewFrontier(n int, deps func(i int) []int) *Frontier {
	f := &Frontier{waits: make([]int, n), settled: make([]bool, n), start: make([]int, n+1)}
	for i := range n {
		for _, j := range deps(i) {
			if j >= 0 && j < n {
				f.waits[i]++
				f.start[j+1]++
			}
		}
	}
	for i := range n {
		f.start[i+1] += f.start[i]
	}
	f.users = make([]int, f.start[n])
	fill := slices.Clone(f.start[:n])
	for i := range n {
		for _, j := range deps(i) {
			if j >= 0 && j < n {
				f.users[fill[j]] = i
				fill[j]++
			}
		}
	}
	return f
}

// Free returns the free nodes, ascending.
func (f *Frontier) Free() []int {
	var free []int
	for i, w := range f.waits {
		if w == 0 && !f.settled[i] {
			free = append(free, i)
		}
	}
	return free
}

// Settle marks node i as settled and calls freed, which may be nil, with each node
// that became free by it, ascending. Settling a node again does nothing. A node
// may be settled before it is free.
func (f *Frontier) Settle(i int, freed func(i int)) {
	if f.settled[i] {
		return
	}
	f.settled[i] = true
	for _, j := range f.users[f.start[i]:f.start[i+1]] {
		f.waits[j]--
		if f.waits[j] == 0 && !f.settled[j] && freed != nil {
			freed(j)
		}
	}
}

// Drain settles the whole frontier wave by wave and returns the waves. A wave
// holds every free node that may run, ascending; it is settled as a whole before
// the next one is formed, so each node stands in the earliest wave it can. Nodes
// for which may returns false are never settled, and neither is what waits for
// them.
func (f *Frontier) Drain(may func(i int) bool) [][]int {
	var waves [][]int
	for free := f.Free(); len(free) > 0; {
		wave := slices.DeleteFunc(free, func(i int) bool { return !may(i) })
		if len(wave) == 0 {
			break
		}
		waves = append(waves, wave)
		var next []int
		for _, i := range wave {
			f.Settle(i, func(j int) { next = append(next, j) })
		}
		slices.Sort(next)
		free = next
	}
	return waves
}
