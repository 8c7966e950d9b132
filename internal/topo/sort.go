package topo

import "slices"

func sortInts(s []int) {
	if !slices.IsSorted(s) {
		slices.Sort(s)
	}
}

// Result is what Sort found.
type Result[K comparable] struct {
	// Order holds the nodes, each after all it depends on. With a cycle it holds
	// those that could be ordered.
	Order []K
	// Stuck holds the nodes that could not be ordered, in the order they were
	// given: those on a cycle and those that wait for one.
	Stuck []K
	// Cycle is one actual cycle among them: each node depends on the next, the
	// last on the first. It starts at the cycle's first node in the order given.
	// Nil if there is none.
	Cycle []K
}

// Sort orders nodes by Kahn's algorithm. Whenever several nodes are free the
// least one is taken; less has to be a strict order, and nodes it does not tell
// apart keep the order they were given in. The result depends on nothing else.
func Sort[K comparable](nodes []K, deps func(K) []K, less func(a, b K) bool) Result[K] {
	f := NewFrontier(nodes, deps)
	h := heap{less: func(i, j int) bool {
		a, b := f.nodes[i], f.nodes[j]
		if less(a, b) {
			return true
		}
		return !less(b, a) && i < j
	}}
	for i := range f.nodes {
		if f.waits[i] == 0 {
			h.push(i)
		}
	}
	res := Result[K]{Order: make([]K, 0, len(f.nodes))}
	for len(h.items) > 0 {
		i := h.pop()
		res.Order = append(res.Order, f.nodes[i])
		f.settle(i, h.push)
	}
	if len(res.Order) < len(f.nodes) {
		for i, k := range f.nodes {
			if !f.settled[i] {
				res.Stuck = append(res.Stuck, k)
			}
		}
		res.Cycle = f.cycle(deps)
	}
	return res
}

// Waves returns the waves of a graph: each node in the earliest wave after all
// it depends on, each wave in the order the nodes were given in. Nodes on a
// cycle, and those that wait for one, are in no wave.
func Waves[K comparable](nodes []K, deps func(K) []K) [][]K {
	return NewFrontier(nodes, deps).Drain(func(K) bool { return true })
}

// cycle walks from the first unsettled node along unsettled dependencies, of
// which each unsettled node has one, until it meets a node again.
func (f *Frontier[K]) cycle(deps func(K) []K) []K {
	at := slices.Index(f.settled, false)
	if at < 0 {
		return nil
	}
	seen := make(map[int]int) // node to its place on the path
	var path []int
	for {
		if from, ok := seen[at]; ok {
			path = path[from:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		next := -1
		for _, d := range deps(f.nodes[at]) {
			if j, ok := f.index[d]; ok && !f.settled[j] {
				next = j
				break
			}
		}
		if next < 0 {
			return nil // deps changed its answer; there is nothing true to report
		}
		at = next
	}
	first := slices.Index(path, slices.Min(path))
	cycle := make([]K, 0, len(path))
	for i := range path {
		cycle = append(cycle, f.nodes[path[(first+i)%len(path)]])
	}
	return cycle
}

// heap is a binary heap of node numbers.
type heap struct {
	items []int
	less  func(i, j int) bool
}

func (h *heap) push(i int) {
	h.items = append(h.items, i)
	for c := len(h.items) - 1; c > 0; {
		p := (c - 1) / 2
		if !h.less(h.items[c], h.items[p]) {
			return
		}
		h.items[c], h.items[p] = h.items[p], h.items[c]
		c = p
	}
}

func (h *heap) pop() int {
	top, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	for p := 0; ; {
		c := 2*p + 1
		if c >= last {
			return top
		}
		if c+1 < last && h.less(h.items[c+1], h.items[c]) {
			c++
		}
		if !h.less(h.items[c], h.items[p]) {
			return top
		}
		h.items[c], h.items[p] = h.items[p], h.items[c]
		p = c
	}
}
