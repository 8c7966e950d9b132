package topo

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type graph map[string][]string

func (g graph) nodes() []string {
	var ns []string
	for n := range g {
		ns = append(ns, n)
	}
	slices.Sort(ns)
	return ns
}

func (g graph) deps(n string) []string { return g[n] }

func TestSortTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		g            graph
		order, cycle []string
		waves        [][]string
	}{
		{name: "empty", g: graph{}, order: []string{}},
		{name: "independent keep the tie order", g: graph{"b": nil, "a": nil}, order: []string{"a", "b"}, waves: [][]string{{"a", "b"}}},
		{name: "chain against the tie order", g: graph{"a": {"b"}, "b": {"c"}, "c": nil}, order: []string{"c", "b", "a"}, waves: [][]string{{"c"}, {"b"}, {"a"}}},
		{name: "external dependencies constrain nothing", g: graph{"a": {"zz"}, "b": {"a"}}, order: []string{"a", "b"}, waves: [][]string{{"a"}, {"b"}}},
		{name: "a dependency named twice counts once", g: graph{"a": {"b", "b"}, "b": nil}, order: []string{"b", "a"}, waves: [][]string{{"b"}, {"a"}}},
		{name: "self", g: graph{"a": {"a"}, "b": nil}, order: []string{"b"}, cycle: []string{"a"}, waves: [][]string{{"b"}}},
		{name: "cycle behind a tail", g: graph{"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"b"}}, order: []string{}, cycle: []string{"b", "c", "d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := Sort(c.g.nodes(), c.g.deps, cmp.Less[string])
			if !reflect.DeepEqual(r.Order, c.order) || !reflect.DeepEqual(r.Cycle, c.cycle) {
				t.Errorf("order %v, cycle %v; want %v, %v", r.Order, r.Cycle, c.order, c.cycle)
			}
			if w := Waves(c.g.nodes(), c.g.deps); !reflect.DeepEqual(w, c.waves) {
				t.Errorf("waves %v, want %v", w, c.waves)
			}
		})
	}
}

// TestC112_DiamondEndComesAfterBothSides: layering must not put a diamond's end
// in the wave of its nearer parent.
func TestC112_DiamondEndComesAfterBothSides(t *testing.T) {
	t.Parallel()
	g := graph{"top": nil, "short": {"top"}, "long1": {"top"}, "long2": {"long1"}, "end": {"short", "long2"}}
	want := [][]string{{"top"}, {"long1", "short"}, {"long2"}, {"end"}}
	if w := Waves(g.nodes(), g.deps); !reflect.DeepEqual(w, want) {
		t.Errorf("waves %v, want %v", w, want)
	}
}

func TestFrontierStepByStep(t *testing.T) {
	t.Parallel()
	deps := [][]int{0: nil, 1: {0}, 2: {0, 1, 99}, 3: nil}
	f := NewFrontier(len(deps), func(i int) []int { return deps[i] })
	if got := f.Free(); !slices.Equal(got, []int{0, 3}) {
		t.Fatalf("free at the start: %v", got)
	}
	for _, s := range []struct {
		settle      int
		freed, free []int
	}{
		{3, nil, []int{0}},
		{1, nil, []int{0}}, // settled before it was free
		{0, []int{2}, []int{2}},
		{0, nil, []int{2}},
		{2, nil, nil},
	} {
		var freed []int
		f.Settle(s.settle, func(i int) { freed = append(freed, i) })
		if !slices.Equal(freed, s.freed) || !slices.Equal(f.Free(), s.free) {
			t.Errorf("settle %d freed %v, free %v; want %v, %v", s.settle, freed, f.Free(), s.freed, s.free)
		}
	}
}

// drawGraph draws up to 12 nodes with edges anywhere, or only backwards.
func drawGraph(t *rapid.T, acyclic bool) (nodes []int, deps map[int][]int) {
	n := rapid.IntRange(0, 12).Draw(t, "n")
	nodes = rapid.Permutation(seq(n)).Draw(t, "nodes")
	deps = map[int][]int{}
	for i, k := range nodes {
		limit := n - 1
		if acyclic {
			limit = i - 1
		}
		if limit < 0 {
			continue
		}
		for _, j := range rapid.SliceOfN(rapid.IntRange(0, limit), 0, 3).Draw(t, "deps") {
			deps[k] = append(deps[k], nodes[j])
		}
	}
	return nodes, deps
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// TestSortAgainstModel compares with the obvious slow algorithm: again and again
// take the least node of which all dependencies are taken.
func TestSortAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes, deps := drawGraph(t, rapid.Bool().Draw(t, "acyclic"))
		taken := map[int]bool{}
		var want []int
		for {
			best := -1
			for _, k := range nodes {
				ready := !taken[k]
				for _, d := range deps[k] {
					ready = ready && taken[d]
				}
				if ready && (best < 0 || k < best) {
					best = k
				}
			}
			if best < 0 {
				break
			}
			taken[best] = true
			want = append(want, best)
		}
		r := Sort(nodes, func(k int) []int { return deps[k] }, cmp.Less[int])
		if !slices.Equal(r.Order, want) {
			t.Fatalf("order %v, model %v, deps %v", r.Order, want, deps)
		}
		if len(r.Order)+len(r.Stuck) != len(nodes) || (len(r.Stuck) > 0) != (len(r.Cycle) > 0) {
			t.Fatalf("order %v, stuck %v, cycle %v of %v", r.Order, r.Stuck, r.Cycle, nodes)
		}
		for i, k := range r.Cycle {
			if next := r.Cycle[(i+1)%len(r.Cycle)]; !slices.Contains(deps[k], next) {
				t.Fatalf("cycle %v: %d does not depend on %d", r.Cycle, k, next)
			}
		}
	})
}

// TestWavesAreMinimal: a node's wave is exactly one after the latest wave of
// what it depends on.
func TestWavesAreMinimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes, deps := drawGraph(t, true)
		wave := map[int]int{}
		total := 0
		for i, w := range Waves(nodes, func(k int) []int { return deps[k] }) {
			total += len(w)
			for _, k := range w {
				wave[k] = i
			}
		}
		if total != len(nodes) || len(wave) != len(nodes) {
			t.Fatalf("%d of %d nodes in waves", total, len(nodes))
		}
		for _, k := range nodes {
			want := 0
			for _, d := range deps[k] {
				want = max(want, wave[d]+1)
			}
			if wave[k] != want {
				t.Fatalf("node %d in wave %d, want %d", k, wave[k], want)
			}
		}
	})
}

func TestDrainLeavesOutWhatMayNotRun(t *testing.T) {
	t.Parallel()
	deps := [][]int{0: nil, 1: nil, 2: {0}, 3: {1}, 4: {2, 3}}
	got := NewFrontier(len(deps), func(i int) []int { return deps[i] }).Drain(func(i int) bool { return i != 1 })
	if want := [][]int{{0}, {2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("waves %v, want %v", got, want)
	}
}

func chain(n int) ([]int, func(int) []int) {
	deps := make([][]int, n)
	for i := 1; i < n; i++ {
		deps[i] = []int{i - 1}
	}
	return seq(n), func(k int) []int { return deps[k] }
}

// TestGrowthIsLinear counts allocations on the shape that makes a careless
// implementation quadratic: as many waves as nodes.
func TestGrowthIsLinear(t *testing.T) {
	allocs := func(n int) float64 {
		nodes, deps := chain(n)
		return testing.AllocsPerRun(3, func() { Waves(nodes, deps); Sort(nodes, deps, cmp.Less[int]) })
	}
	small, large := allocs(1000), allocs(10000)
	if ratio := large / small; ratio > 12 {
		t.Errorf("allocations grow %.1f times for 10 times the nodes (%.0f to %.0f)", ratio, small, large)
	}
}

func BenchmarkSortChain10000(b *testing.B) {
	nodes, deps := chain(10000)
	b.ReportAllocs()
	for b.Loop() {
		Sort(nodes, deps, cmp.Less[int])
	}
}
