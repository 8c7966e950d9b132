package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// attach: another process, with nothing but the record, goes on with the sandbox.
func attach(e *env, confined bool) {
	ctx := e.t.Context()
	req, sb := e.create(confined)
	e.apply(sb, modifications())
	want := e.snapshot(sb)
	rec := record(req, sb)
	spec := childSpec{Strategy: e.strat.Name(), Home: e.home, Rec: rec}
	e.child(spec, "checkpoint", "by another process")
	// This process's idea of the sandbox is old now: attach again, as another would.
	sb, err := e.strat.Attach(ctx, rec)
	e.must(err)
	same(e.t, "attached", want, e.snapshot(sb))
	e.apply(sb, []Op{{Do: "removeall", Path: "dir"}, {Do: "write", Path: "x", Data: "x"}})
	e.child(spec, "restore", "by another process")
	sb, err = e.strat.Attach(ctx, rec)
	e.must(err)
	same(e.t, "restored elsewhere", want, e.snapshot(sb))
	got := slices.DeleteFunc(e.child(spec, "checkpoints", "").Names, func(n string) bool { return n == engine.CheckpointCreation })
	if fmt.Sprint(got) != "[by another process]" {
		e.t.Errorf("checkpoints seen by another process: %v", got)
	}
	wrong := rec
	wrong.Plan = "another-plan"
	if _, err := e.strat.Attach(ctx, wrong); err == nil {
		e.t.Error("attached to another plan's sandbox")
	}
	spec.Abandon = true
	e.child(spec, "destroy", "")
	e.empty(req.Dir)
	if _, err := e.strat.Attach(ctx, rec); err == nil {
		e.t.Error("attached to a sandbox that was destroyed")
	}
}

// child has another process do something that must succeed.
func (e *env) child(spec childSpec, do, name string) Result {
	e.t.Helper()
	spec.Do, spec.Name = do, name
	res, _, err := runChild(spec)
	e.must(err)
	if res.Error != "" {
		e.t.Fatalf("%s in another process: %s", do, res.Error)
	}
	return res
}

// destroy: everything that the sandbox made is gone, nothing else is, and doing
// it twice does no harm.
func destroy(e *env, confined bool) {
	ctx := e.t.Context()
	was := e.real()
	req, sb := e.create(confined)
	bystander, other := e.create(confined)
	e.apply(sb, modifications())
	e.must(sb.Checkpoint(ctx, "one"))
	keep := e.snapshot(other)
	e.must(sb.Destroy(ctx, true))
	e.empty(req.Dir)
	e.must(sb.Destroy(ctx, true))
	same(e.t, "the sibling of a destroyed sandbox", keep, e.snapshot(other))
	e.must(other.Destroy(ctx, false))
	e.empty(bystander.Dir)
	e.unchangedAtEnd(was)
	// The same plan may be staged again.
	again, err := e.strat.Create(ctx, req)
	e.must(err)
	same(e.t, "made again", keep, e.snapshot(again))
	e.must(again.Destroy(ctx, true))
	e.unchangedAtEnd(was)
}

// commitsBlockDestroy: commits that exist nowhere else are not thrown away (C1, C2, C5).
func commitsBlockDestroy(e *env, confined bool) {
	if !e.set.git {
		e.t.Skip("a plain directory has no commits")
	}
	ctx := e.t.Context()
	was := e.real()
	req, sb := e.create(confined)
	want := "refs/heads/ambit/" + req.Plan
	out, err := Inside(e.enter(sb), "git symbolic-ref HEAD; git log --format=%s -n 3; git for-each-ref --format='%(refname)'")
	e.must(err)
	for _, line := range []string{want, "two", "refs/heads/other", "refs/tags/v1"} {
		if !strings.Contains(out, line+"\n") {
			e.t.Errorf("git inside does not show %q:\n%s", line, out)
		}
	}
	if _, err := Inside(e.enter(sb), "echo work > work; git add work; git commit -q -m work; git fsck --no-dangling; git gc -q --prune=now"); err != nil {
		e.t.Fatal(err)
	}
	if err := sb.Destroy(ctx, false); !fault.Is(err, fault.Conflict) {
		e.t.Fatalf("destroy with a commit of its own: %v, want conflict", err)
	}
	out, err = Inside(e.enter(sb), "git log --format=%s -n 1; cat work")
	e.must(err)
	if out != "work\nwork\n" {
		e.t.Errorf("after the refusal: %q", out)
	}
	// A detached commit, and one that only a checkpoint holds, count as well.
	e.must(sb.Checkpoint(ctx, "with work"))
	e.must(sb.Rollback(ctx))
	if err := sb.Destroy(ctx, false); !fault.Is(err, fault.Conflict) {
		e.t.Errorf("destroy with a commit in a checkpoint: %v, want conflict", err)
	}
	if !e.ownAdmin() {
		e.unchanged(was)
	}
	e.must(sb.Destroy(ctx, true))
	e.empty(req.Dir)
	e.unchangedAtEnd(was)
}

// ignored: paths that the resource's rules exclude are counted and left out.
func ignored(e *env, confined bool) {
	if !e.set.git {
		e.t.Skip("a plain directory has no ignore rules")
	}
	ctx := e.t.Context()
	_, sb := e.create(confined)
	e.apply(sb, []Op{
		{Do: "mkdir", Path: "build"},
		{Do: "write", Path: "build/new.o", Data: "o"},
		{Do: "write", Path: "dir/more.log", Data: "log"},
		{Do: "write", Path: "plain.txt", Data: "changed\n"},
		{Do: "mkdir", Path: "logs"},
		{Do: "write", Path: "logs/a.log", Data: "log"},
	})
	rules := func(_ context.Context, paths []string) (map[string]bool, error) {
		hit := map[string]bool{}
		for _, p := range paths {
			p2 := strings.TrimSuffix(p, "/")
			hit[p] = strings.HasSuffix(p2, ".log") || p == "build/" || strings.HasPrefix(p2, "build/")
		}
		return hit, nil
	}
	set, _, err := sb.Changes(ctx, engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{Ignored: rules, KeepIgnored: true})
	e.must(err)
	if len(set.Changes) != 1 || set.Changes[0].Path != "plain.txt" {
		e.t.Errorf("changes beside the ignored ones: %v", set.Changes)
	}
	if set.IgnoredPaths < 3 || len(set.Ignored) != set.IgnoredPaths {
		e.t.Errorf("ignored: %d counted, %d listed", set.IgnoredPaths, len(set.Ignored))
	}
	e.must(sb.Destroy(ctx, true))
}

// siblings: sixteen sandboxes over one tree, made and written to at the same
// time; every write is only in its own (C16, C66).
func siblings(e *env, confined bool) {
	ctx := e.t.Context()
	was := e.real()
	const n = 16
	boxes := make([]engine.Sandbox, n)
	reqs := make([]engine.CreateRequest, n)
	for i := range boxes {
		reqs[i] = e.request(confined)
	}
	var g errgroup.Group
	g.SetLimit(8)
	for i := range boxes {
		g.Go(func() (err error) {
			boxes[i], err = e.strat.Create(ctx, reqs[i])
			return err
		})
	}
	e.must(g.Wait())
	for i, sb := range boxes {
		en := e.enter(sb)
		g.Go(func() error {
			var ops []Op
			for k := range 40 {
				ops = append(ops,
					Op{Do: "write", Path: "plain.txt", Data: fmt.Sprintf("%d by %d\n", k, i)},
					Op{Do: "append", Path: "dir/inner", Data: fmt.Sprintf("%d\n", i)},
					Op{Do: "write", Path: fmt.Sprintf("dir/new-%d-%d", i, k), Data: "x"})
			}
			return Apply(en, append(ops, Op{Do: "removeall", Path: "gone"}))
		})
	}
	e.must(g.Wait())
	for i, sb := range boxes {
		got := e.snapshot(sb)
		mine := 0
		for p := range got {
			if rest, ok := strings.CutPrefix(p, "dir/new-"); ok {
				if !strings.HasPrefix(rest, fmt.Sprintf("%d-", i)) {
					e.t.Errorf("sandbox %d holds %q of another", i, p)
				}
				mine++
			}
		}
		if mine != 40 {
			e.t.Errorf("sandbox %d holds %d of its 40 files", i, mine)
		}
		out, err := Inside(e.enter(sb), "cat plain.txt; tail -n 1 dir/inner; wc -l < dir/inner")
		e.must(err)
		if want := fmt.Sprintf("39 by %d\n%d\n41\n", i, i); out != want {
			e.t.Errorf("sandbox %d reads %q, wrote %q", i, out, want)
		}
	}
	if !e.ownAdmin() {
		e.unchanged(was)
	}
	for i, sb := range boxes {
		g.Go(func() error {
			if err := sb.Destroy(ctx, true); err != nil {
				return fmt.Errorf("destroy %d: %w", i, err)
			}
			return nil
		})
	}
	e.must(g.Wait())
	e.unchangedAtEnd(was)
}

// runNone: the strategy that isolates nothing says so instead of pretending.
func runNone(t *testing.T, mk Maker) {
	e := newEnv(t, mk, engine.StrategyNone, setups()[0])
	ctx := t.Context()
	was := e.real()
	_, sb := e.create(false)
	if en := e.enter(sb); en.Root != e.res.Path {
		t.Errorf("commands are sent to %s, the resource is %s", en.Root, e.res.Path)
	}
	if err := sb.Rollback(ctx); err == nil {
		t.Error("a rollback that cannot be must be an error (page 50)")
	}
	if err := sb.Checkpoint(ctx, "x"); err == nil {
		t.Error("a checkpoint that cannot be must be an error")
	}
	e.must(os.WriteFile(filepath.Join(e.res.Path, "written"), []byte("x"), 0o600))
	e.must(sb.Destroy(ctx, false))
	e.must(os.Remove(filepath.Join(e.res.Path, "written")))
	e.unchanged(was)
}

// Names lists the strategies of a maker, sorted.
func Names(mk Maker, home string) []string {
	var out []string
	for _, s := range mk(newGit(home), nil) {
		out = append(out, string(s.Name()))
	}
	sort.Strings(out)
	return out
}
