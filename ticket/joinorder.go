package ticket

import "slices"

// outline puts the files in the order of their names, but a parent before its
// children and these right behind it. A file whose parents go in a circle has none.
func outline(parsed []*Ticket) []*Ticket {
	index := map[string]int{}
	for i, t := range parsed {
		if t == nil {
			continue
		}
		if _, ok := index[fold(t.ID)]; !ok {
			index[fold(t.ID)] = i
		}
	}
	parent := func(i int) int {
		p, ok := index[fold(parsed[i].parent)]
		if !ok || parsed[i].parent == "" || p == i {
			return -1
		}
		return p
	}
	children, roots := make([][]int, len(parsed)), []int{}
	state := make([]int, len(parsed)) // 1 = on the way up, 2 = leads to a root
	for i, t := range parsed {
		if t == nil {
			continue
		}
		var way []int
		k := i
		for k >= 0 && state[k] == 0 {
			state[k] = 1
			way = append(way, k)
			k = parent(k)
		}
		if k >= 0 && state[k] == 1 {
			parsed[k].parent = "" // a circle ends here
		}
		for _, w := range way {
			state[w] = 2
		}
	}
	for i, t := range parsed {
		if t == nil {
			continue
		}
		if p := parent(i); p >= 0 {
			children[p] = append(children[p], i)
		} else {
			t.parent = ""
			roots = append(roots, i)
		}
	}
	var out []*Ticket
	stack := slices.Clone(roots)
	slices.Reverse(stack)
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = append(out, parsed[i])
		for k := len(children[i]) - 1; k >= 0; k-- {
			stack = append(stack, children[i][k])
		}
	}
	return out
}
