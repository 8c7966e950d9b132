package topo

import "slices"

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
//
// deps names what a node waits for; what is not among the nodes constrains
// nothing. A node given twice counts once.
func Sort[K comparable](nodes []K, deps func(K) []K, less func(a, b K) bool) Result[K] {
	g := number(nodes, deps)
	r := SortNumbers(len(g.nodes), g.of, func(i, j int) bool { return less(g.nodes[i], g.nodes[j]) })
	return Result[K]{Order: g.keys(r.Order), Stuck: g.keys(r.Stuck), Cycle: g.keys(r.Cycle)}
}

// SortNumbers is Sort for nodes that are numbers from 0 to n-1. A nil less takes
// the least number first.
func SortNumbers(n int, deps func(i int) []int, less func(i, j int) bool) Result[int] {
	f := NewFrontier(n, deps)
	h := heap{less: func(i, j int) bool {
		if less == nil {
			return i < j
		}
		return less(i, j) || !less(j, i) && i < j
	}}
	for _, i := range f.Free() {
		h.push(i)
	}
	res := Result[int]{Order: make([]int, 0, n)}
	for len(h.items) > 0 {
		i := h.pop()
		res.Order = append(res.Order, i)
		f.Settle(i, h.push)
	}
	if len(res.Order) < n {
		for i := range n {
			if !f.settled[i] {
				res.Stuck = append(res.Stuck, i)
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
	g := number(nodes, deps)
	var waves [][]K
	for _, wave := range NewFrontier(len(g.nodes), g.of).Drain(func(int) bool { return true }) {
		waves = append(waves, g.keys(wave))
	}
	return waves
}

// numbered is a graph whose nodes have numbers.
type numbered[K comparable] struct {
	nodes []K
	deps  [][]int
}

func number[K comparable](nodes []K, deps func(K) []K) *numbered[K] {
	g := &numbered[K]{nodes: make([]K, 0, len(nodes))}
	index := make(map[K]int, len(nodes))
	for _, k := range nodes {
		if _, ok := index[k]; !ok {
			index[k] = len(g.nodes)
			g.nodes = append(g.nodes, k)
		}
	}
	g.deps = make([][]int, len(g.nodes))
	for i, k := range g.nodes {
		for _, d := range deps(k) {
			if j, ok := index[d]; ok {
				g.deps[i] = append(g.deps[i], j)
			}
		}
	}
	return g
}

func (g *numbered[K]) of(i int) []int { return g.deps[i] }

func (g *numbered[K]) keys(nodes []int) []K {
	if nodes == nil {
		return nil
	}
	keys := make([]K, len(nodes))
	for n, i := range nodes {
		keys[n] = g.nodes[i]
	}
	return keys
}

// cycle walks from the first unsettled node along unsettled dependencies, of
// which each unsettled node has one, until it meets a node again.
func (f *Frontier) cycle(deps func(int) []int) []int {
	at := slices.Index(f.settled, false)
	place := make([]int, len(f.settled)) // 1-based place of a node on the path
	var path []int
	for place[at] == 0 {
		path = append(path, at)
		place[at] = len(path)
		at = deps(at)[slices.IndexFunc(deps(at), func(j int) bool { return !f.settled[j] })]
	}
	path = path[place[at]-1:]
	first := slices.Index(path, slices.Min(path))
	return slices.Concat(path[first:], path[:first])
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
