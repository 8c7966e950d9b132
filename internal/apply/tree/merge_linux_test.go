package tree

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// TestDecide is the table of three states of one path.
func TestDecide(t *testing.T) {
	t.Parallel()
	x, y, z := file("x\n"), file("y\n"), file("z\n")
	exec := func(n node) node { n.mode |= 0o111; return n }
	mode := func(n node, m uint32) node { n.mode = m; return n }
	attr := func(n node, v string) node { n.attrs = v; return n }
	none := node{}
	strict, merge, git := rules{}, rules{merge: true}, rules{merge: true, git: true}
	const bad = "CONFLICT"
	cases := []struct {
		name               string
		before, after, now node
		r                  rules
		want               any // node, or bad; a merge of contents is "MERGE"
	}{
		{"created", none, x, none, strict, x},
		{"created, there alike", none, x, x, strict, x},
		{"created, there otherwise", none, x, y, git, bad},
		{"created, there with another mode", none, x, mode(x, 0o600), merge, bad},
		{"created, there with a mode git does not know", none, x, mode(x, 0o664), git, mode(x, 0o664)},
		{"folder created, there with another mode", none, dir(), dirMode2(0o700), strict, bad},
		{"folder created, there with another mode, git", none, dir(), dirMode2(0o700), git, dirMode2(0o700)},
		{"deleted", x, none, x, strict, none},
		{"deleted, gone", x, none, none, strict, none},
		{"deleted, changed", x, none, y, git, bad},
		{"deleted, mode changed", x, none, mode(x, 0o600), merge, bad},
		{"deleted, mode changed that git does not know", x, none, mode(x, 0o664), git, none},
		{"deleted, made executable", x, none, exec(x), git, bad},
		{"modified", x, y, x, strict, y},
		{"modified, same outside", x, y, y, strict, y},
		{"modified, otherwise outside", x, y, z, strict, bad},
		{"modified, otherwise outside, merge", x, y, z, merge, "MERGE"},
		{"modified, deleted outside", x, y, none, git, bad},
		{"mode here, contents there", x, exec(x), y, merge, exec(y)},
		{"mode here, contents there, strict", x, exec(x), y, strict, bad},
		{"contents here, mode there", x, y, exec(x), merge, exec(y)},
		{"modes on both sides", x, exec(x), mode(x, 0o600), merge, bad},
		{"modes on both sides, git", x, exec(x), mode(x, 0o640), git, mode(x, 0o750)},
		{"executable bit off, git", exec(x), x, mode(x, 0o770), git, mode(x, 0o660)},
		{"contents, umask differs, git", x, y, mode(x, 0o664), git, mode(y, 0o664)},
		{"attribute here, contents there", x, attr(x, "a"), y, merge, attr(y, "a")},
		{"attributes on both sides", x, attr(x, "a"), attr(x, "b"), merge, bad},
		{"contents, attribute only outside, git", x, y, attr(x, "b"), git, attr(y, "b")},
		{"retyped", x, link("l"), x, strict, link("l")},
		{"retyped, changed outside", x, link("l"), y, git, bad},
		{"retyped to a folder, mode changed outside", x, dir(), mode(x, 0o600), merge, bad},
		{"retyped outside", x, y, link("l"), git, bad},
		{"link retargeted", link("a"), link("b"), link("a"), strict, link("b")},
		{"link retargeted on both sides", link("a"), link("b"), link("c"), git, bad},
		{"folder mode", dir(), dirMode2(0o700), dir(), strict, dirMode2(0o700)},
		{"folder modes on both sides", dir(), dirMode2(0o700), dirMode2(0o711), merge, bad},
	}
	entry := func(n node) *changeset.Entry {
		if n.kind == "" {
			return nil
		}
		e := n.entry()
		if e.Kind == changeset.Symlink {
			e.Mode = 0
		}
		return e
	}
	for _, c := range cases {
		v := decide(entry(c.before), entry(c.after), entry(c.now), c.r)
		switch want := c.want.(type) {
		case string:
			if want == bad && v.conflict == "" {
				t.Errorf("%s: decided %+v", c.name, v.result)
			}
			if want == "MERGE" && (v.conflict != "" || v.source != fromMerge) {
				t.Errorf("%s: %+v", c.name, v)
			}
		case node:
			if v.conflict != "" {
				t.Errorf("%s: conflict: %s", c.name, v.conflict)
			} else if w := entry(want); (w == nil) != (v.result == nil) || w != nil && !w.Same(v.result) {
				t.Errorf("%s: %+v, want %+v", c.name, v.result, w)
			}
		}
	}
	unknown := x.entry()
	unknown.Hash = ""
	if v := decide(unknown, y.entry(), x.entry(), merge); v.conflict == "" {
		t.Error("an unknown base was taken for equal")
	}
}

// gitFixture is a fixture whose target counts as a checkout.
func gitFixture(t *testing.T, before, after, now world) *fixture {
	t.Helper()
	f := newFixture(t, t.TempDir()+"/plan", now, now)
	f.req.Resource.Type = engine.TypeGitCheckout
	f.req.Merge = true
	f.req.Set, f.req.Src = diff(before, after), worlds{before, after}
	return f
}

func TestTextsThatChangedOnBothSidesAreMerged(t *testing.T) {
	t.Parallel()
	lines := func(edit ...string) string {
		return strings.NewReplacer(edit...).Replace("1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	}
	before := world{"f": file(lines()), "g": file("x\n"), "p": file(lines())}
	after := world{"f": file(lines("2\n", "two\n")), "g": file("x\n"), "p": fileMode(lines("9\n", "nine\n"), 0o755)}
	now := world{"f": file(lines("8\n", "eight\n")), "g": file("x\n"), "p": file(lines("1\n", "one\n"))}
	f := gitFixture(t, before, after, now)
	state := f.prepare()
	if !strings.Contains(string(state), `"merged":["f","p"]`) {
		t.Errorf("the state does not say what was merged: %s", state)
	}
	check(t, f.tgt.Commit(t.Context(), state))
	check(t, f.tgt.Verify(t.Context(), state))
	f.is(world{
		"f": file(lines("2\n", "two\n", "8\n", "eight\n")), "g": file("x\n"),
		"p": fileMode(lines("1\n", "one\n", "9\n", "nine\n"), 0o755),
	}, "after Commit")
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
}

// TestMergeConflictsLeaveNoMarkers: nothing is half-merged.
func TestC126_MergeConflictsLeaveNoMarkers(t *testing.T) {
	t.Parallel()
	before := world{"f": file("a\nb\nc\n"), "bin": file("\x00a"), "ok": file("1\n")}
	after := world{"f": file("a\nB\nc\n"), "bin": file("\x00b"), "ok": file("2\n")}
	now := world{"f": file("a\nb!\nc\n"), "bin": file("\x00c"), "ok": file("1\n")}
	f := gitFixture(t, before, after, now)
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Conflict, "bin", "f")
	f.restored("after the conflict")
	// Without leave to merge, even far-apart edits are a conflict.
	g := gitFixture(t, world{"f": file("1\n2\n3\n4\n")}, world{"f": file("one\n2\n3\n4\n")}, world{"f": file("1\n2\n3\nfour\n")})
	g.req.Merge, g.req.Resource.Type = false, engine.TypeFSDirectory
	_, err = g.tgt.Prepare(t.Context(), g.req)
	wantFault(t, err, fault.Conflict, "f")
	// A base that is gone.
	h := gitFixture(t, world{"f": file("1\n2\n3\n4\n")}, world{"f": file("one\n2\n3\n4\n")}, world{"f": file("1\n2\n3\nfour\n")})
	h.req.Src = worlds{world{}, world{"f": file("one\n2\n3\n4\n")}}
	_, err = h.tgt.Prepare(t.Context(), h.req)
	wantFault(t, err, fault.Conflict, "f")
}

func TestGitCheckoutsHaveFoldersThatNobodyNames(t *testing.T) {
	t.Parallel()
	now := world{"src/a.go": file("a\n"), "pkg/b.go": file("b\n"), "pkg/__pycache__/b.pyc": file("cache"), "pkg/sub/c.go": file("c\n")}.parents()
	f := gitFixture(t, now, now, now)
	created := changeset.Change{Path: "new/deep/er/f.go", Op: changeset.Created, After: file("f\n").entry()}
	f.req.Set = diff(now, now.with(world{"pkg": {}, "pkg/b.go": {}, "pkg/sub": {}, "pkg/sub/c.go": {}, "pkg/__pycache__": {}, "pkg/__pycache__/b.pyc": {}}))
	f.req.Set.Changes = slices.DeleteFunc(f.req.Set.Changes, func(c changeset.Change) bool {
		return strings.Contains(c.Path, "pycache") // the ignored cache is none of the plan's
	})
	f.req.Set.Changes = append(f.req.Set.Changes, created)
	f.req.Src = worlds{now, world{"new/deep/er/f.go": file("f\n")}}
	state := f.prepare()
	check(t, f.tgt.Commit(t.Context(), state))
	check(t, f.tgt.Verify(t.Context(), state))
	want := maps.Clone(now)
	for _, p := range []string{"pkg/b.go", "pkg/sub/c.go", "pkg/sub"} {
		delete(want, p)
	}
	f.is(want.with(world{"new/deep/er/f.go": file("f\n")}), "after Commit")
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
	// In a plain directory both are conflicts.
	g := *f
	g.req.Resource.Type, g.req.Merge = engine.TypeFSDirectory, false
	_, err := g.tgt.Prepare(t.Context(), g.req)
	wantFault(t, err, fault.Conflict, "new/deep/er/f.go", "pkg")
}

// TestGitUmaskDiffers: the plan worked on a checkout made with another umask.
func TestGitUmaskDiffers(t *testing.T) {
	t.Parallel()
	before := world{"f": file("x\n"), "run": fileMode("y\n", 0o755), "gone": file("z\n"), "d/g": file("g\n")}.parents()
	after := world{"f": file("X\n"), "run": fileMode("Y\n", 0o755)}
	now := world{"f": fileMode("x\n", 0o664), "run": fileMode("y\n", 0o775), "gone": fileMode("z\n", 0o664), "d": dirMode2(0o775), "d/g": fileMode("g\n", 0o664)}
	f := gitFixture(t, before, after, now)
	state := f.prepare()
	check(t, f.tgt.Commit(t.Context(), state))
	check(t, f.tgt.Verify(t.Context(), state))
	f.is(world{"f": fileMode("X\n", 0o664), "run": fileMode("Y\n", 0o775)}, "after Commit")
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
}

func TestRenamesAreCarriedOut(t *testing.T) {
	t.Parallel()
	before, after := world{"a": file("same contents\n")}, world{"b": fileMode("same contents\n", 0o755)}
	f := newFixture(t, t.TempDir()+"/plan", before, after)
	changeset.DetectRenames(f.req.Set)
	if len(f.req.Set.Changes) != 1 || f.req.Set.Changes[0].Op != changeset.Renamed {
		t.Fatalf("%+v", f.req.Set.Changes)
	}
	state := f.prepare()
	if len(f.req.Set.Changes) != 1 {
		t.Error("Prepare changed the caller's set")
	}
	check(t, f.tgt.Commit(t.Context(), state))
	f.is(after, "after Commit")
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
}
