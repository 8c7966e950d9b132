package tree

import (
	"os"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

var sample = world{
	"a.txt":         file("alpha\n"),
	"bin/run":       fileMode("#!/bin/sh\n", 0o755),
	"data.bin":      file("\x00\x01\x02binary\xff"),
	"docs/one.md":   file("one\n"),
	"docs/two.md":   file("two\n"),
	"deep/a/b/c/f":  file("deep\n"),
	"empty":         dir(),
	"link":          link("a.txt"),
	"dangling":      link("/nowhere/at/all"),
	"private/key":   fileMode("key\n", 0o600),
	"odd\nname":     file("newline\n"),
	"bad-\xff\xfe":  file("not UTF-8\n"),
	"-rf":           file("dash\n"),
	"sparse":        file(strings.Repeat("\x00", 1<<16) + "end"),
	"readonly":      fileMode("ro\n", 0o444),
	"kinds/to-dir":  file("file\n"),
	"kinds/to-link": file("file\n"),
	"kinds/from":    link("x"),
	"kinds/dir/x":   file("x\n"),
	"kinds/dir/y/z": file("z\n"),
}.parents()

// TestEveryOperationAndTypeChange is the table: what the plan does, in one step each.
func TestC128_EveryOperationAndTypeChange(t *testing.T) {
	t.Parallel()
	gone := node{}
	cases := map[string]world{
		"nothing":                        {},
		"create a file":                  {"new.txt": file("new\n")},
		"create an executable":           {"bin/new": fileMode("#!\n", 0o755)},
		"create an empty file":           {"new.txt": file("")},
		"create a folder":                {"newdir": dir()},
		"create a tree":                  {"n/m/o/f": file("f\n"), "n/m/g": file("g\n"), "n/l": link("m/g"), "n/e": dirMode2(0o700)},
		"create a link":                  {"newlink": link("../out/secret")},
		"create a dangling link":         {"newlink": link("nowhere")},
		"create odd names":               {"new\nline": file("1"), "bad/\xfe\xff": file("2"), "- -": file("3"), strings.Repeat("n", 255): file("4")},
		"modify a file":                  {"a.txt": file("ALPHA\n")},
		"modify a binary":                {"data.bin": file("\x00\x01\x02BINARY\xff\x00")},
		"empty a file":                   {"a.txt": file("")},
		"modify a sparse file":           {"sparse": file(strings.Repeat("\x00", 1<<16) + "END")},
		"modify a read-only file":        {"readonly": fileMode("rw\n", 0o444)},
		"modify an odd name":             {"bad-\xff\xfe": file("still not\n"), "odd\nname": file("x")},
		"make it executable":             {"a.txt": fileMode("alpha\n", 0o755)},
		"contents and mode":              {"a.txt": fileMode("ALPHA\n", 0o600)},
		"an attribute":                   {"a.txt": {kind: changeset.File, mode: 0o644, data: "alpha\n", attrs: "note"}},
		"an attribute of a folder":       {"docs": {kind: changeset.Dir, mode: 0o755, attrs: "note"}},
		"mode of a folder":               {"docs": dirMode2(0o700), "empty": dirMode2(0o711)},
		"mode of a folder and contents":  {"docs": dirMode2(0o550), "docs/one.md": file("ONE\n"), "docs/three.md": file("three\n")},
		"retarget a link":                {"link": link("docs/one.md"), "dangling": link("/etc/passwd")},
		"delete a file":                  {"a.txt": gone},
		"delete a link":                  {"link": gone, "dangling": gone},
		"delete an empty folder":         {"empty": gone},
		"delete a tree":                  {"docs": gone, "docs/one.md": gone, "docs/two.md": gone},
		"delete a deep tree":             {"deep": gone, "deep/a": gone, "deep/a/b": gone, "deep/a/b/c": gone, "deep/a/b/c/f": gone},
		"file to folder":                 {"kinds/to-dir": dir()},
		"file to folder with contents":   {"kinds/to-dir": dir(), "kinds/to-dir/f": file("f"), "kinds/to-dir/d/g": file("g")},
		"file to link":                   {"kinds/to-link": link("/etc/passwd")},
		"link to file":                   {"kinds/from": file("file\n")},
		"link to folder":                 {"kinds/from": dir(), "kinds/from/f": file("f")},
		"folder to file":                 {"kinds/dir": file("file\n"), "kinds/dir/x": gone, "kinds/dir/y": gone, "kinds/dir/y/z": gone},
		"folder to link":                 {"kinds/dir": link("../docs"), "kinds/dir/x": gone, "kinds/dir/y": gone, "kinds/dir/y/z": gone},
		"empty folder to file":           {"empty": file("no longer\n")},
		"rename":                         {"a.txt": gone, "b.txt": file("alpha\n")},
		"rename a folder":                {"docs": gone, "docs/one.md": gone, "docs/two.md": gone, "doc/one.md": file("one\n"), "doc/two.md": file("two\n")},
		"swap two files":                 {"a.txt": file("one\n"), "docs/one.md": file("alpha\n")},
		"a folder replaced by its child": {"deep": file("deep\n"), "deep/a": gone, "deep/a/b": gone, "deep/a/b/c": gone, "deep/a/b/c/f": gone},
		"everything goes":                everythingGone(),
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := sample.with(change)
			if name == "everything goes" {
				after = world{}
			}
			eachSpot(t, func(t *testing.T, plan string) { roundTrip(t, plan, sample, after) })
		})
	}
}

func everythingGone() world {
	w := world{}
	for p := range sample {
		w[p] = node{}
	}
	return w
}

// roundTrip applies and undoes, each step twice.
func roundTrip(t testing.TB, plan string, before, after world) {
	t.Helper()
	f := newFixture(t, plan, before, after)
	ctx := t.Context()
	state := f.prepare()
	for p, s := range scan(t, f.root) {
		if !strings.Contains(p, ".ambit-") && (s.node != f.start[p].node || s.ino != f.start[p].ino) {
			t.Fatalf("Prepare changed %q", p)
		}
	}
	for range 2 {
		check(t, f.tgt.Commit(ctx, state))
		f.is(after, "after Commit")
		check(t, f.tgt.Verify(ctx, state))
	}
	check(t, f.tgt.CheckUndo(ctx, state))
	f.is(after, "after CheckUndo")
	for range 2 {
		check(t, f.tgt.Undo(ctx, state))
		f.restored("after Undo")
		check(t, f.tgt.CheckUndo(ctx, state))
	}
	if left, _ := os.ReadDir(f.plan); len(left) > 2 {
		t.Errorf("left in the plan's folder: %v", left)
	}
}

func TestAbandonLeavesNothing(t *testing.T) {
	t.Parallel()
	eachSpot(t, func(t *testing.T, plan string) {
		f := newFixture(t, plan, sample, sample.with(world{"a.txt": file("new\n"), "n/f": file("f"), "link": {}}))
		for range 2 {
			state := f.prepare()
			check(t, f.tgt.Abandon(t.Context(), f.plan, state))
			check(t, f.tgt.Abandon(t.Context(), f.plan, nil))
			f.restored("after Abandon")
			if left, _ := os.ReadDir(f.plan); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		}
		// Prepare again over an attempt that was never abandoned.
		f.prepare()
		state := f.prepare()
		check(t, f.tgt.Commit(t.Context(), state))
		wantFault(t, f.tgt.Abandon(t.Context(), f.plan, state), fault.Conflict)
		check(t, f.tgt.Undo(t.Context(), state))
		check(t, f.tgt.Abandon(t.Context(), f.plan, state))
		f.restored("after all")
	})
}

// TestO46_UndoPutsTheVeryObjectsBack: on one file system an undo is not a copy.
func TestO46_UndoPutsTheVeryObjectsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", sample, sample.with(world{"a.txt": file("new\n"), "link": {}, "docs": {}, "docs/one.md": {}, "docs/two.md": {}, "added": file("x")}))
	state := f.prepare()
	check(t, f.tgt.Commit(t.Context(), state))
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
	for p, s := range scan(t, f.root) {
		if s.ino != f.start[p].ino {
			t.Errorf("%q is another inode than before", p)
		}
	}
	for _, p := range []string{"docs"} {
		if now := scan(t, f.root)[p].mtime; !now.Equal(f.start[p].mtime) {
			t.Errorf("%q has time %v, had %v", p, now, f.start[p].mtime)
		}
	}
}

// TestC58_DeleteAndRecreateAcrossTwoApplies: what an earlier apply deleted must
// not come back with a later one.
func TestC58_DeleteAndRecreateAcrossTwoApplies(t *testing.T) {
	t.Parallel()
	eachSpot(t, func(t *testing.T, plan string) {
		first := sample.with(world{"docs": {}, "docs/one.md": {}, "docs/two.md": {}})
		second := first.with(world{"docs": dirMode2(0o700), "docs/three.md": file("three\n")})
		f := newFixture(t, plan+"1", sample, first)
		one := f.prepare()
		check(t, f.tgt.Commit(t.Context(), one))
		f.is(first, "after the first")
		g := *f
		g.req.Dir, g.req.Set, g.req.Src = plan+"2", diff(first, second), worlds{first, second}
		check(t, os.MkdirAll(g.req.Dir, 0o700))
		t.Cleanup(func() { _ = os.RemoveAll(g.req.Dir) })
		two := g.prepare()
		check(t, g.tgt.Commit(t.Context(), two))
		g.is(second, "after the second")
		// The first cannot be undone under the second, and says where.
		wantFault(t, f.tgt.CheckUndo(t.Context(), one), fault.Conflict, "docs")
		check(t, g.tgt.Undo(t.Context(), two))
		g.is(first, "after undoing the second")
		check(t, f.tgt.Undo(t.Context(), one))
		f.restored("after undoing both")
	})
}

func TestC100_LargeFilesStayWhole(t *testing.T) {
	t.Parallel()
	sizes := []int{10 << 20}
	if !testing.Short() {
		sizes = append(sizes, 100<<20)
	}
	for _, size := range sizes {
		big := strings.Repeat("0123456789abcde\n", size/16)
		edited := big[:size/2] + "edited one line\n" + big[size/2+16:]
		roundTrip(t, t.TempDir()+"/plan", world{"big": file(big)}, world{"big": file(edited)})
	}
}

func TestMessagesAndStateAreSmall(t *testing.T) {
	t.Parallel()
	before, after := world{}, world{}
	for _, c := range "abcdefghij" {
		before["f"+string(c)], after["f"+string(c)] = file("1"), file("2")
	}
	f := newFixture(t, t.TempDir()+"/plan", before, after)
	if state := f.prepare(); len(state) > 1000 {
		t.Errorf("the state has %d bytes: %s", len(state), state)
	}
}
