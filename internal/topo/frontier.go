package topo

// Frontier tracks which nodes are free: not settled themselves, and everything
// they wait for is settled.
type Frontier[K comparable] struct {
	nodes   []K
	index   map[K]int
	waits   []int // unsettled dependencies of each node, counted as often as named
	settled []bool
	// The dependants of node i are users[start[i]:start[i+1]], in node order.
	start, users []int
}

// NewFrontier returns the frontier of a graph in which nothing is settled. Nodes
// are told apart by value; a node given twice counts once. The slices that deps
// returns are only read.
func NewFrontier[K comparable](nodes []K, deps func(K) []K) *Frontier[K] {
	f := &Frontier[K]{index: make(map[K]int, len(nodes))}
	f.nodes = make([]K, 0, len(nodes))
	for _, k := range nodes {
		if _, ok := f.index[k]; !ok {
			f.index[k] = len(f.nodes)
			f.nodes = append(f.nodes, k)
		}
	}
	n := len(f.nodes)
	f.waits, f.settled, f.start = make([]int, n), make([]bool, n), make([]int, n+1)
	for i, k := range f.nodes {
		for _, d := range deps(k) {
			if j, ok := f.index[d]; ok {
				f.waits[i]++
				f.start[j+1]++
			}
		}
	}
	for i := range n {
		f.start[i+1] += f.start[i]
	}
	f.users = make([]int, f.start[n])
	fill := make([]int, n)
	copy(fill, f.start)
	for i, k := range f.nodes {
		for _, d := range deps(k) {
			if j, ok := f.index[d]; ok {
				f.users[fill[j]] = i
				fill[j]++
			}
		}
	}
	return f
}

// Free returns the free nodes in the order they were given.
func (f *Frontier[K]) Free() []K {
	var free []K
	for i, k := range f.nodes {
		if f.waits[i] == 0 && !f.settled[i] {
			free = append(free, k)
		}
	}
	return free
}

// Settle marks k as settled and returns the nodes that became free by it, in the
// order they were given. Settling a node that is unknown or settled already does
// nothing. A node may be settled before it is free.
func (f *Frontier[K]) Settle(k K) []K {
	i, ok := f.index[k]
	if !ok {
		return nil
	}
	var free []K
	f.settle(i, func(j int) { free = append(free, f.nodes[j]) })
	return free
}

func (f *Frontier[K]) settle(i int, freed func(int)) {
	if f.settled[i] {
		return
	}
	f.settled[i] = true
	for _, j := range f.users[f.start[i]:f.start[i+1]] {
		f.waits[j]--
		if f.waits[j] == 0 && !f.settled[j] {
			freed(j)
		}
	}
}

// Drain settles the whole frontier wave by wave and returns the waves. A wave
// holds every free node that may run; it is settled as a whole before the next
// one is formed, so each node stands in the earliest wave it can. Nodes for which
// may returns false are never settled, and neither is what waits for them. Within
// a wave nodes keep the order they were given in.
func (f *Frontier[K]) Drain(may func(K) bool) [][]K {
	var waves [][]K
	wave := make([]int, 0)
	for i := range f.nodes {
		if f.waits[i] == 0 && !f.settled[i] {
			wave = append(wave, i)
		}
	}
	for len(wave) > 0 {
		var keys []K
		var next []int
		for _, i := range wave {
			if !may(f.nodes[i]) {
				continue
			}
			keys = append(keys, f.nodes[i])
			f.settle(i, func(j int) { next = append(next, j) })
		}
		if len(keys) == 0 {
			break
		}
		waves = append(waves, keys)
		sortInts(next)
		wave = next
	}
	return waves
}
