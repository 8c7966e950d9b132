package conformance

import (
	"fmt"
	"sort"
	"testing"

	"github.com/ambit-run/ambit/changeset"
)

// diffTrees is the slow, obvious comparison that strategies are measured by:
// every path of both snapshots, without renames. Special files and what could
// not be read are left out, as changesets leave them out.
func diffTrees(before, after Tree) []changeset.Change {
	paths := map[string]bool{}
	for p := range before {
		paths[p] = true
	}
	for p := range after {
		paths[p] = true
	}
	var out []changeset.Change
	for p := range paths {
		b, inB := before[p]
		a, inA := after[p]
		if (inB && !carried(b)) || (inA && !carried(a)) {
			continue
		}
		c := changeset.Change{Path: p, Op: changeset.Modified}
		if inB {
			c.Before = &b
		} else {
			c.Op = changeset.Created
		}
		if inA {
			c.After = &a
		} else {
			c.Op = changeset.Deleted
		}
		if !c.Before.Same(c.After) {
			out = append(out, c)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

func carried(e changeset.Entry) bool {
	return e.Kind == changeset.File || e.Kind == changeset.Dir || e.Kind == changeset.Symlink
}

// expand undoes renames, so that two accounts can be compared path by path.
func expand(set *changeset.Set) []changeset.Change {
	var out []changeset.Change
	for _, c := range append(append([]changeset.Change{}, set.Changes...), set.Ignored...) {
		if c.Op == changeset.Renamed {
			out = append(out,
				changeset.Change{Path: c.From, Op: changeset.Deleted, Before: c.Before},
				changeset.Change{Path: c.Path, Op: changeset.Created, After: c.After})
			continue
		}
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

// compare fails the test unless a strategy's account equals the model's.
func compare(t *testing.T, want []changeset.Change, set *changeset.Set) {
	t.Helper()
	got := map[string]changeset.Change{}
	for _, c := range expand(set) {
		if _, twice := got[c.Path]; twice {
			t.Errorf("%q is reported twice", c.Path)
		}
		got[c.Path] = c
	}
	for _, w := range want {
		g, ok := got[w.Path]
		delete(got, w.Path)
		switch {
		case !ok:
			t.Errorf("%s %q is not reported", w.Op, w.Path)
		case g.Op != w.Op || !g.Before.Same(w.Before) || !g.After.Same(w.After):
			t.Errorf("%q: reported %s %s → %s, is %s %s → %s", w.Path, g.Op, show(g.Before), show(g.After), w.Op, show(w.Before), show(w.After))
		}
	}
	for p, g := range got {
		t.Errorf("%s %q is reported and did not happen (%s → %s)", g.Op, p, show(g.Before), show(g.After))
	}
	for i := 1; i < len(set.Changes); i++ {
		if set.Changes[i-1].Path >= set.Changes[i].Path {
			t.Errorf("changes are not sorted: %q before %q", set.Changes[i-1].Path, set.Changes[i].Path)
		}
	}
}

func show(e *changeset.Entry) string {
	if e == nil {
		return "nothing"
	}
	return fmt.Sprintf("{%s %o %d %.8s %q %v}", e.Kind, e.Mode, e.Size, e.Hash, e.Link, e.Xattrs)
}

// same fails the test unless two snapshots are equal, special files included.
func same(t *testing.T, what string, want, got Tree) {
	t.Helper()
	for _, d := range diffTrees(want, got) {
		t.Errorf("%s: %s %q (%s, should be %s)", what, d.Op, d.Path, show(d.After), show(d.Before))
	}
	for p, e := range want {
		if g, ok := got[p]; !carried(e) && (!ok || g.Kind != e.Kind) {
			t.Errorf("%s: %q should be %s", what, p, e.Kind)
		}
	}
}
