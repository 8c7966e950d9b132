package ticket

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/fault"
)

// TestRandomGraphsAsTickets writes any graph as a ticket and holds the DAG of both
// grammars to what a few lines of a model say: a cycle is an error, else the order
// respects every edge and takes the first that is free, and each step stands in
// the wave behind its latest dependency.
func TestRandomGraphsAsTickets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 14).Draw(t, "tasks")
		acyclic := rapid.Bool().Draw(t, "acyclic")
		deps := make([][]int, n) // by index, from 0
		done := make([]bool, n)
		perm := rapid.Permutation(upTo(n)).Draw(t, "order")
		var src strings.Builder
		for i := range n {
			for range rapid.IntRange(0, 3).Draw(t, "dependencies") {
				j := rapid.IntRange(0, n-1).Draw(t, "on")
				if !slices.Contains(deps[i], j) && (!acyclic || perm[j] < perm[i]) {
					deps[i] = append(deps[i], j)
				}
			}
			done[i] = rapid.IntRange(0, 4).Draw(t, "done") == 0
			fmt.Fprintf(&src, "- [%s] do", map[bool]string{true: "x", false: " "}[done[i]])
			for k, j := range deps[i] {
				fmt.Fprintf(&src, "%sn%02d", map[bool]string{true: " after ", false: ", "}[k == 0], j+1)
			}
			src.WriteByte('\n')
		}
		order, waves := model(deps, done)
		for _, g := range Grammars() {
			tk, ds := Parse("t.md", []byte(src.String()), Options{Grammar: g})
			d, more := Build(tk, BuildOptions{})
			if fault.HasErrors(ds) {
				t.Fatalf("%s: %s", g, showFindings(ds))
			}
			if d == nil {
				if order != nil || fault.CodeOf(AsError("", more)) != fault.Conflict {
					t.Fatalf("%s: no DAG of\n%s%s", g, &src, showFindings(more))
				}
				continue
			}
			var got []int
			for i := range d.Nodes {
				got = append(got, d.Nodes[i].Index-1)
			}
			if !slices.Equal(got, order) {
				t.Fatalf("%s: order %v, want %v, of\n%s", g, got, order, &src)
			}
			gotWaves := make([]int, n) // 0 = in none
			for w, ids := range d.Waves() {
				for _, id := range ids {
					gotWaves[d.Node(id).Index-1] = w + 1
				}
			}
			if !slices.Equal(gotWaves, waves) {
				t.Fatalf("%s: waves %v, want %v, of\n%s", g, gotWaves, waves, &src)
			}
		}
	})
}

// model orders a graph by the rule alone, nil if it has a cycle, and numbers the
// waves from 1. All ids differ in their index only, so both grammars break ties
// alike.
func model(deps [][]int, done []bool) (order, waves []int) {
	placed := make([]bool, len(deps))
	for len(order) < len(deps) {
		next := slices.IndexFunc(upTo(len(deps)), func(i int) bool {
			return !placed[i] && !slices.ContainsFunc(deps[i], func(j int) bool { return !placed[j] })
		})
		if next < 0 {
			return nil, nil
		}
		placed[next], order = true, append(order, next)
	}
	waves = make([]int, len(deps))
	for _, i := range order {
		if done[i] {
			continue
		}
		waves[i] = 1
		for _, j := range deps[i] {
			waves[i] = max(waves[i], waves[j]+1)
		}
	}
	return order, waves
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
