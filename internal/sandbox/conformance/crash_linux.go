package conformance

import (
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/ambit-run/ambit/engine"
)

// crashFirst is how many of an operation's calls are died at one after the
// other; then the distance between two grows by a third each time, from a random
// start, so that an operation of a thousand calls is died in some twenty times and
// many runs together meet every call. AMBIT_FAULT_STRIDE is a fixed distance
// instead: 1 dies at every call.
const crashFirst = 4

// killed calls do with growing call numbers to die at until the operation comes
// through alive; do returns whether it died. A strategy whose calls cannot be
// intercepted comes through at once, which proves nothing: then it is said.
func (e *env) killed(do func(killAt int) bool) {
	e.t.Helper()
	stride, _ := strconv.Atoi(os.Getenv("AMBIT_FAULT_STRIDE"))
	died := 0
	for at, step := 1, 1; do(at); at += step {
		switch died++; {
		case stride > 0:
			step = stride
		case died >= crashFirst:
			step = 1 + at/6 + rand.IntN(1+at/3) //nolint:gosec // which calls are left out does not matter
		}
	}
	if died == 0 {
		e.t.Skip("the strategy's file-system calls cannot be intercepted: no crash was tried")
	}
}

// crashCreate: whatever call creating dies at, creating again gives a whole sandbox.
func crashCreate(e *env, confined bool) {
	was := e.real()
	var want Tree
	e.killed(func(at int) bool {
		req := e.request(confined)
		spec := childSpec{Strategy: e.strat.Name(), Home: e.home, Do: "create", Req: req, KillAt: at}
		_, died, err := runChild(spec)
		e.must(err)
		sb, err := e.strat.Create(e.t.Context(), req)
		if err != nil {
			e.t.Fatalf("after dying at call %d: %v", at, err)
		}
		got := e.snapshot(sb)
		if want == nil {
			want = got
			e.showsReal(got)
		}
		same(e.t, "created again", want, got)
		if set := e.changes(sb, engine.CheckpointCreation, engine.CheckpointNow); len(set.Changes) != 0 {
			e.t.Errorf("after dying at call %d a fresh sandbox has changes: %q", at, set.Changes[0].Path)
		}
		e.must(sb.Destroy(e.t.Context(), false))
		e.empty(req.Dir)
		return died
	})
	e.unchangedAtEnd(was)
}

// crashed makes a sandbox with two states and has another process die in an
// operation on it. It returns the sandbox, attached again.
func (e *env) crashed(confined bool, at int, do, name string) (engine.CreateRequest, engine.Sandbox, [2]Tree, bool) {
	e.t.Helper()
	ctx := e.t.Context()
	req, sb := e.create(confined)
	e.apply(sb, []Op{{Do: "write", Path: "plain.txt", Data: "one\n"}, {Do: "removeall", Path: "gone"}, {Do: "write", Path: "n1", Data: "1"}})
	states := [2]Tree{e.snapshot(sb)}
	e.must(sb.Checkpoint(ctx, "one"))
	e.apply(sb, []Op{{Do: "write", Path: "plain.txt", Data: "two\n"}, {Do: "removeall", Path: "dir"}, {Do: "mkdir", Path: "gone"}, {Do: "write", Path: "n2", Data: "2"}})
	states[1] = e.snapshot(sb)
	spec := childSpec{Strategy: e.strat.Name(), Home: e.home, Do: do, Name: name, Rec: record(req, sb), KillAt: at, Abandon: true}
	res, died, err := runChild(spec)
	e.must(err)
	if res.Error != "" {
		e.t.Fatalf("%s: %s", do, res.Error)
	}
	sb, err = e.strat.Attach(ctx, spec.Rec)
	if err != nil && do != "destroy" {
		e.t.Fatalf("attach after dying at call %d: %v", at, err)
	}
	return req, sb, states, died
}

// crashCheckpoint: the present state is what it was, and the checkpoint can be made.
func crashCheckpoint(e *env, confined bool) {
	ctx := e.t.Context()
	e.killed(func(at int) bool {
		_, sb, states, died := e.crashed(confined, at, "checkpoint", "two")
		same(e.t, "after a cut-off checkpoint", states[1], e.snapshot(sb))
		e.must(sb.Checkpoint(ctx, "two"))
		same(e.t, "after the checkpoint was made", states[1], e.snapshot(sb))
		e.must(sb.Restore(ctx, "one"))
		same(e.t, "restored one", states[0], e.snapshot(sb))
		e.must(sb.Restore(ctx, "two"))
		same(e.t, "restored two", states[1], e.snapshot(sb))
		e.must(sb.Destroy(ctx, true))
		return died
	})
}

// crashRestore: the present state is the old or the restored one, nothing
// between, and restoring again gives the restored one.
func crashRestore(e *env, confined bool) {
	ctx := e.t.Context()
	e.killed(func(at int) bool {
		_, sb, states, died := e.crashed(confined, at, "restore", "one")
		got := e.snapshot(sb)
		if len(diffTrees(states[0], got)) != 0 && len(diffTrees(states[1], got)) != 0 {
			e.t.Errorf("after dying at call %d the state is neither the old nor the restored one", at)
		}
		e.must(sb.Restore(ctx, "one"))
		same(e.t, "restored", states[0], e.snapshot(sb))
		e.must(sb.Destroy(ctx, true))
		return died
	})
}

// crashDestroy: removal can be taken up again, and ends with nothing left.
func crashDestroy(e *env, confined bool) {
	ctx := e.t.Context()
	was := e.real()
	e.killed(func(at int) bool {
		req, sb, _, died := e.crashed(confined, at, "destroy", "")
		if sb == nil { // nothing to attach to any more: creating and removing must still work
			var err error
			sb, err = e.strat.Create(ctx, req)
			e.must(err)
		}
		e.must(sb.Destroy(ctx, true))
		e.empty(req.Dir)
		return died
	})
	e.unchangedAtEnd(was)
}
