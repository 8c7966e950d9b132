package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Run takes one strategy of mk through the suite.
func Run(t *testing.T, mk Maker, name engine.StrategyName) {
	if name == engine.StrategyNone {
		runNone(t, mk)
		return
	}
	var ran atomic.Int64
	type testCase struct {
		name string
		run  func(e *env, confined bool)
	}
	light := []testCase{
		{"Isolation", isolation},
		{"Checkpoints", checkpoints},
		{"Names", names},
		{"Attach", attach},
		{"Destroy", destroy},
		{"CommitsBlockDestroy", commitsBlockDestroy},
		{"Ignored", ignored},
	}
	heavy := []testCase{
		{"C66_Siblings", siblings},
		{"Random", random},
	}
	crashes := []testCase{
		{"CrashCreate", crashCreate},
		{"CrashCheckpoint", crashCheckpoint},
		{"CrashRestore", crashRestore},
		{"CrashDestroy", crashDestroy},
	}
	t.Run("all", func(t *testing.T) { // waits for the parallel ones
		for _, s := range setups() {
			for _, confined := range []bool{true, false} {
				where := map[bool]string{true: "confined", false: "elsewhere"}[confined]
				t.Run(s.name+"/"+where, func(t *testing.T) {
					t.Parallel()
					e := newEnv(t, mk, name, s)
					e.probe(e.request(confined))
					todo := slices.Clone(light)
					// What crashes and crowds meet is the same wherever the sandbox
					// appears: once is enough, and -short leaves it to others.
					if (confined || !e.probes(e.request(true))) && !testing.Short() {
						todo = append(todo, heavy...)
						if s.crash {
							todo = append(todo, crashes...)
						}
					}
					for _, c := range todo {
						t.Run(c.name, func(t *testing.T) {
							t.Parallel()
							c.run(newEnv(t, mk, name, s), confined)
							if !t.Skipped() {
								ran.Add(1)
							}
						})
					}
				})
			}
		}
	})
	if ran.Load() == 0 && !t.Failed() && runsAll() {
		if err := Namespaces(); err != nil {
			t.Skip(err)
		}
		t.Errorf("%s took none of the resources: nothing was tested", name)
	}
}

// runsAll reports whether no -test.run pattern selects parts of the suite.
func runsAll() bool {
	for _, a := range os.Args[1:] {
		if len(a) > 9 && (a[:9] == "-test.run" || a[:10] == "--test.run") {
			return false
		}
	}
	return true
}

// modifications touch every kind of entry in every way; paths are those of oddTree.
func modifications() []Op {
	return []Op{
		{Do: "append", Path: "plain.txt", Data: "more\n"},
		{Do: "write", Path: "same.txt", Data: "SAME SIZE\n"},
		{Do: "write", Path: "dir/inner", Data: "inner\n"}, // written, but equal
		{Do: "truncate", Path: "dir/deep/a/b/c"},
		{Do: "rename", Path: "moved", To: "dir/moved here"},
		{Do: "removeall", Path: "gone"},
		{Do: "mkdir", Path: "gone"},
		{Do: "write", Path: "gone/fresh", Data: "deleted and made again (C58)\n"},
		{Do: "write", Path: "gone/two", Data: "other\n"},
		{Do: "remove", Path: "kind-file"},
		{Do: "mkdir", Path: "kind-file"},
		{Do: "write", Path: "kind-file/inside", Data: "x\n"},
		{Do: "removeall", Path: "kind-dir"},
		{Do: "write", Path: "kind-dir", Data: "now a file\n"},
		{Do: "chmod", Path: "run.sh", Mode: 0o644},
		{Do: "chmod", Path: "with space", Mode: 0o755},
		{Do: "chmod", Path: "dir", Mode: 0o750},
		{Do: "remove", Path: "link"},
		{Do: "symlink", Path: "link", To: "same.txt"},
		{Do: "symlink", Path: "new link", To: "/etc/passwd"},
		{Do: "remove", Path: "dirlink"},
		{Do: "mkdir", Path: "dirlink"},
		{Do: "write", Path: "dirlink/f", Data: "f\n"},
		{Do: "append", Path: "hard1", Data: "more\n"},
		{Do: "link", Path: "same.txt", To: "another name"},
		{Do: "remove", Path: ".wh.plain.txt"},
		{Do: "write", Path: ".wh.readonly", Data: "an ordinary file\n"},
		{Do: "write", Path: "dir/.wh..wh..opq", Data: "an ordinary file\n"},
		{Do: "mkdir", Path: "new empty"},
		{Do: "removeall", Path: "empty"},
		{Do: "write", Path: "odd\n\xff\xfe name", Data: "odd\n"},
		{Do: "remove", Path: "new\nline"},
		{Do: "setxattr", Path: "with space", To: "user.extra", Data: "value"},
		{Do: "write", Path: "script", Data: "#!/bin/sh\n", Mode: 0o755},
		{Do: "append", Path: "binary", Data: "\x00\x01"},
		{Do: "append", Path: "sparse", Data: "beyond"},
		{Do: "fifo", Path: "pipe"},
		{Do: "mkdir", Path: "deep"},
		{Do: "mkdir", Path: "deep/er"},
		{Do: "write", Path: "deep/er/f", Data: "f\n"},
		{Do: "rename", Path: "deep/er", To: "deep/est"},
	}
}

// isolation: the sandbox shows the real tree, what is done in it stays in it, and
// the strategy's account of it is the kernel's.
func isolation(e *env, confined bool) {
	was := e.real()
	_, sb := e.create(confined)
	before := e.snapshot(sb)
	e.showsReal(before)
	e.apply(sb, modifications())
	after := e.snapshot(sb)
	if len(diffTrees(before, after)) < 30 {
		e.t.Fatalf("the modifications did not happen: %d differences", len(diffTrees(before, after)))
	}
	set := e.changes(sb, engine.CheckpointCreation, engine.CheckpointNow)
	compare(e.t, diffTrees(before, after), set)
	renamed := false
	for _, c := range set.Changes {
		renamed = renamed || (c.Op == changeset.Renamed && c.From == "moved" && c.Path == "dir/moved here")
	}
	if !renamed {
		e.t.Error("moving a file was not reported as a rename")
	}
	listed := false
	for _, s := range set.Skipped {
		listed = listed || s.Path == "pipe"
	}
	if !listed {
		e.t.Errorf("the new FIFO is not among the skipped paths: %v", set.Skipped)
	}
	if !e.ownAdmin() {
		e.unchanged(was)
	}
	e.must(sb.Rollback(e.t.Context()))
	same(e.t, "after rollback", before, e.snapshot(sb))
	if set := e.changes(sb, engine.CheckpointCreation, engine.CheckpointNow); len(set.Changes) != 0 {
		e.t.Errorf("after rollback %d changes are left, first %q", len(set.Changes), set.Changes[0].Path)
	}
	e.must(sb.Destroy(e.t.Context(), true))
	e.unchangedAtEnd(was)
}

// showsReal compares a fresh sandbox with the real tree. A strategy that makes a
// checkout leaves ignored files and empty directories behind; nothing else may
// differ.
func (e *env) showsReal(got Tree) {
	e.t.Helper()
	want, err := ReadTree(e.res.Path, e.set.git)
	e.must(err)
	checkout := e.ownAdmin() || e.set.lower == engine.LowerFrozen
	for _, d := range diffTrees(want, got) {
		if checkout && d.Before != nil && d.After == nil && (d.Before.Kind == changeset.Dir || e.isIgnored(d.Path)) {
			continue
		}
		if checkout && d.Before != nil && d.After != nil && len(d.Before.Xattrs) > 0 {
			continue // git does not keep attributes
		}
		if checkout && d.Before != nil && d.After != nil && gitAlike(d.Before, d.After) {
			continue
		}
		e.t.Errorf("the sandbox shows %q as %s, it is %s", d.Path, show(d.After), show(d.Before))
	}
}

// gitAlike compares what git keeps of a file: contents and whether it may be run.
func gitAlike(a, b *changeset.Entry) bool {
	if a.Kind != b.Kind || a.Hash != b.Hash || a.Link != b.Link {
		return false
	}
	return a.Kind == changeset.Dir || a.Mode&0o100 == b.Mode&0o100
}

func (e *env) isIgnored(path string) bool {
	return filepath.Ext(path) == ".log" || path == "build" || (len(path) > 6 && path[:6] == "build/")
}

// changes asks the strategy, and reads every content that it speaks of.
func (e *env) changes(sb engine.Sandbox, from, to string) *changeset.Set {
	e.t.Helper()
	set, src, err := sb.Changes(e.t.Context(), from, to, engine.ChangeOptions{})
	e.must(err)
	for _, c := range set.Changes {
		old := c.Path
		if c.From != "" {
			old = c.From
		}
		e.content(src, changeset.Before, old, c.Before)
		e.content(src, changeset.After, c.Path, c.After)
	}
	if c, ok := src.(io.Closer); ok {
		e.must(c.Close())
	}
	return set
}

func (e *env) content(src changeset.Source, side changeset.Side, path string, want *changeset.Entry) {
	e.t.Helper()
	if want == nil || want.Kind != changeset.File {
		return
	}
	r, err := src.Open(side, path)
	if err != nil {
		e.t.Errorf("contents of %q (side %d): %v", path, side, err)
		return
	}
	h := sha256.New()
	_, err = io.Copy(h, r)
	e.must(errors.Join(err, r.Close()))
	if got := hex.EncodeToString(h.Sum(nil)); got != want.Hash {
		e.t.Errorf("contents of %q (side %d) have hash %.8s, announced was %.8s", path, side, got, want.Hash)
	}
}

// unchangedAtEnd is unchanged after the sandbox is gone. A strategy with an
// administrative directory may leave empty folders of git's own behind.
func (e *env) unchangedAtEnd(was real) {
	e.t.Helper()
	if !e.ownAdmin() {
		e.unchanged(was)
		return
	}
	is := e.real()
	for _, pair := range [][2]Tree{{was.tree, is.tree}, {was.common, is.common}} {
		for _, d := range diffTrees(pair[0], pair[1]) {
			if d.Before == nil && d.After.Kind == changeset.Dir {
				continue
			}
			e.t.Errorf("the real resource changed: %s %q", d.Op, d.Path)
		}
	}
	if was.status != is.status {
		e.t.Errorf("git says otherwise:\nbefore\n%s\nafter\n%s", was.status, is.status)
	}
}

// checkpoints: every state can be restored exactly, in any order, and compared
// with any other.
func checkpoints(e *env, confined bool) {
	ctx := e.t.Context()
	was := e.real()
	_, sb := e.create(confined)
	creation := e.snapshot(sb)

	e.apply(sb, modifications())
	first := e.snapshot(sb)
	e.must(sb.Checkpoint(ctx, "before:n01-x"))
	e.must(sb.Checkpoint(ctx, "before:n01-x")) // the same state: nothing to do
	same(e.t, "after the first checkpoint", first, e.snapshot(sb))

	e.apply(sb, []Op{
		{Do: "write", Path: "plain.txt", Data: "third version\n"},
		{Do: "removeall", Path: "gone"},
		{Do: "removeall", Path: "dir"},
		{Do: "mkdir", Path: "dir"},
		{Do: "write", Path: "dir/only", Data: "only\n"},
		{Do: "removeall", Path: "kind-file"},
		{Do: "write", Path: "kind-file", Data: "a file again\n"},
		{Do: "chmod", Path: "with space", Mode: 0o600},
		{Do: "write", Path: "new empty/not any more", Data: "x\n"},
		{Do: "remove", Path: "new link"},
	})
	second := e.snapshot(sb)
	e.must(sb.Checkpoint(ctx, "after:n01-x"))
	if err := sb.Checkpoint(ctx, "before:n01-x"); !fault.Is(err, fault.Exists) {
		e.t.Errorf("a taken name: %v, want exists", err)
	}
	e.apply(sb, []Op{{Do: "removeall", Path: "dir"}, {Do: "write", Path: "late", Data: "late\n"}})
	late := e.snapshot(sb)

	compare(e.t, diffTrees(creation, first), e.changes(sb, engine.CheckpointCreation, "before:n01-x"))
	compare(e.t, diffTrees(first, second), e.changes(sb, "before:n01-x", "after:n01-x"))
	compare(e.t, diffTrees(second, late), e.changes(sb, "after:n01-x", engine.CheckpointNow))
	compare(e.t, diffTrees(creation, late), e.changes(sb, engine.CheckpointCreation, engine.CheckpointNow))
	compare(e.t, diffTrees(second, first), e.changes(sb, "after:n01-x", "before:n01-x"))

	for _, x := range []struct {
		name string
		want Tree
	}{{"before:n01-x", first}, {"after:n01-x", second}, {"before:n01-x", first}, {engine.CheckpointCreation, creation}, {"after:n01-x", second}} {
		e.must(sb.Restore(ctx, x.name))
		same(e.t, "restored "+x.name, x.want, e.snapshot(sb))
		e.apply(sb, []Op{{Do: "write", Path: "rubbish", Data: "left by the person\n"}, {Do: "removeall", Path: "dir"}})
	}
	e.must(sb.Rollback(ctx))
	same(e.t, "rolled back", creation, e.snapshot(sb))
	if list := e.list(sb); fmt.Sprint(list) != "[before:n01-x after:n01-x]" {
		e.t.Errorf("checkpoints: %v", list)
	}
	if err := sb.Restore(ctx, "no such"); !fault.Is(err, fault.NotFound) {
		e.t.Errorf("restore of an unknown name: %v, want not_found", err)
	}
	e.must(sb.Destroy(ctx, true))
	e.unchangedAtEnd(was)
}

// names: reserved names are refused, and a failed request changes nothing (C132).
func names(e *env, confined bool) {
	ctx := e.t.Context()
	_, sb := e.create(confined)
	for _, n := range []string{engine.CheckpointNow, ""} {
		if err := sb.Checkpoint(ctx, n); !fault.Is(err, fault.Invalid) {
			e.t.Errorf("checkpoint %q: %v, want invalid", n, err)
		}
	}
	e.apply(sb, []Op{{Do: "write", Path: "plain.txt", Data: "changed\n"}})
	if err := sb.Checkpoint(ctx, engine.CheckpointCreation); err == nil {
		e.t.Error("the state of creation was given to another state")
	}
	e.must(sb.Restore(ctx, engine.CheckpointNow))
	if _, _, err := sb.Changes(ctx, "no such", engine.CheckpointNow, engine.ChangeOptions{}); !fault.Is(err, fault.NotFound) {
		e.t.Errorf("changes from an unknown state: %v, want not_found", err)
	}
	if list := e.list(sb); len(list) != 0 {
		e.t.Errorf("checkpoints of a fresh sandbox: %v", list)
	}
	e.must(sb.Destroy(ctx, true))
}

// list is what Checkpoints lists, without the state of creation, which a
// strategy may list or not.
func (e *env) list(sb engine.Sandbox) []string {
	e.t.Helper()
	names, err := sb.Checkpoints(e.t.Context())
	e.must(err)
	return slices.DeleteFunc(names, func(n string) bool { return n == engine.CheckpointCreation })
}
