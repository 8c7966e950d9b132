package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// CountUp adds one to the run count of a plan's first step, again and again
// until no other writer comes between. It is what a process does in the tests
// for lost updates.
func CountUp(ctx context.Context, s engine.Store, id string) error {
	for {
		p, err := s.Plan(ctx, id)
		if err != nil {
			return err
		}
		p.Steps[0].Runs++
		err = s.UpdatePlan(ctx, p)
		if !fault.Is(err, fault.Conflict) {
			return err
		}
	}
}

func contextDone(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the test said so"))
	return ctx, cancel
}

func lease(key string, pid int) engine.Lease {
	return engine.Lease{Key: key, Plan: "p", PID: pid, Start: fmt.Sprintf("start-%d", pid), BootID: "boot", PIDNS: "ns", Since: epoch}
}

func always(v bool) func(engine.Lease) bool { return func(engine.Lease) bool { return v } }

func held(t *testing.T, s engine.Store, prefix string) []engine.Lease {
	t.Helper()
	ls, err := s.Leases(t.Context(), prefix)
	must(t, err)
	return ls
}

func leaseConflict(t *testing.T, o Opener) {
	s, other := open(t, o), open(t, o)
	a, b := lease("plan:x", 101), lease("plan:x", 202)
	must(t, s.AcquireLease(t.Context(), a, always(true)))
	same(t, held(t, other, ""), []engine.Lease{a})
	want(t, other.AcquireLease(t.Context(), b, always(true)), fault.Conflict, "plan:x", "101")
	want(t, other.AcquireLease(t.Context(), b, nil), fault.Conflict, "101")
	want(t, other.ReleaseLease(t.Context(), b), fault.Conflict, "101")
	same(t, held(t, s, ""), []engine.Lease{a})

	// Its holder may take it again, and says since when; nobody asks whether it lives.
	a.Since = epoch.Add(1)
	must(t, s.AcquireLease(t.Context(), a, func(engine.Lease) bool { t.Error("asked about itself"); return true }))
	same(t, held(t, s, ""), []engine.Lease{a})

	must(t, s.ReleaseLease(t.Context(), a))
	must(t, s.ReleaseLease(t.Context(), a))
	must(t, other.AcquireLease(t.Context(), b, always(true)))
	same(t, held(t, s, ""), []engine.Lease{b})
}

func leaseRecycled(t *testing.T, o Opener) {
	s := open(t, o)
	old := lease("k", 101)
	must(t, s.AcquireLease(t.Context(), old, always(true)))
	for name, change := range map[string]func(*engine.Lease){
		"start": func(l *engine.Lease) { l.Start = "another" },
		"boot":  func(l *engine.Lease) { l.BootID = "another" },
		"ns":    func(l *engine.Lease) { l.PIDNS = "another" },
	} {
		l := old
		change(&l)
		if err := s.AcquireLease(t.Context(), l, always(true)); !fault.Is(err, fault.Conflict) {
			t.Errorf("a process with the same pid and another %s counts as the holder: %v", name, err)
		}
		if err := s.ReleaseLease(t.Context(), l); !fault.Is(err, fault.Conflict) {
			t.Errorf("a process with the same pid and another %s released the lease: %v", name, err)
		}
	}
	same(t, held(t, s, ""), []engine.Lease{old})
}

func leaseDead(t *testing.T, o Opener) {
	s := open(t, o)
	dead, next := lease("k", 101), lease("k", 202)
	must(t, s.AcquireLease(t.Context(), dead, always(true)))
	var asked []engine.Lease
	must(t, s.AcquireLease(t.Context(), next, func(l engine.Lease) bool { asked = append(asked, l); return false }))
	same(t, asked, []engine.Lease{dead})
	same(t, held(t, s, ""), []engine.Lease{next})
	want(t, s.ReleaseLease(t.Context(), dead), fault.Conflict, "202") // it comes back to life and is told
}

// leaseRace lets many handles take over one dead holder's lease: one wins.
func leaseRace(t *testing.T, o Opener) {
	s := open(t, o)
	must(t, s.AcquireLease(t.Context(), lease("k", 1), always(true)))
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		h := open(t, o)
		wg.Go(func() {
			err := h.AcquireLease(t.Context(), lease("k", 100+i), func(l engine.Lease) bool { return l.PID != 1 })
			if err == nil {
				won.Add(1)
			} else if !fault.Is(err, fault.Conflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d processes hold one lease", won.Load())
	}
}

func leasePrefix(t *testing.T, o Opener) {
	s := open(t, o)
	for i, k := range []string{"plan:a", "plan:b", "holder:a", "scope:/x_y", "scope:/xzy", "scope:/\xff"} {
		must(t, s.AcquireLease(t.Context(), lease(k, 100+i), always(true)))
	}
	for prefix, want := range map[string]int{"": 6, "plan:": 2, "scope:/x_": 1, "scope:": 3, "%": 0, "scope:/\xff": 1} {
		ls := held(t, s, prefix)
		if len(ls) != want {
			t.Errorf("prefix %q: %v", prefix, ls)
		}
		for i := range ls[:max(0, len(ls)-1)] {
			if ls[i].Key >= ls[i+1].Key {
				t.Errorf("prefix %q: not sorted: %v", prefix, ls)
			}
		}
	}
}

// leasesTogether: several leases are taken all or not at all; whoever lives and
// clashes is told of, whoever is dead and clashes goes, the others stay.
func leasesTogether(t *testing.T, o Opener) {
	s := open(t, o)
	alive := func(l engine.Lease) bool { return l.PID != 1 }
	clash := func(keys ...string) func(engine.Lease) error {
		return func(l engine.Lease) error {
			for _, k := range keys {
				if l.Key == k {
					return fault.New(fault.Conflict, "", "%s of %d is in the way", k, l.PID)
				}
			}
			return nil
		}
	}
	mine := []engine.Lease{lease("a", 101), lease("b", 101)}
	for _, l := range []engine.Lease{lease("dead", 1), lease("dead too", 1), lease("c", 202)} {
		must(t, s.AcquireLease(t.Context(), l, nil))
	}
	want(t, s.AcquireLeases(t.Context(), mine, alive, clash("c", "dead")), fault.Conflict, "c of 202")
	if got := held(t, s, ""); len(got) != 3 {
		t.Errorf("after a clash: %v", got)
	}
	must(t, s.AcquireLeases(t.Context(), mine, alive, clash("dead")))
	same(t, held(t, s, ""), []engine.Lease{mine[0], mine[1], lease("c", 202), lease("dead too", 1)})
	must(t, s.AcquireLeases(t.Context(), mine, alive, clash("a", "b"))) // nobody clashes with itself
	must(t, s.AcquireLeases(t.Context(), nil, alive, clash()))
	// A process that runs two plans holds each for itself.
	other := lease("z", 101)
	other.Plan = "another plan"
	want(t, s.AcquireLeases(t.Context(), []engine.Lease{other}, alive, clash("a")), fault.Conflict, "a of 101")
	other.Key = "a"
	want(t, s.AcquireLeases(t.Context(), []engine.Lease{other}, alive, clash()), fault.Conflict, "a", "101")
	// A key that another process holds is not taken, whatever clash says.
	want(t, s.AcquireLeases(t.Context(), []engine.Lease{lease("d", 303), lease("a", 303)}, alive, clash()), fault.Conflict, "a", "101")
	if got := held(t, s, "d"); len(got) != 1 || got[0].Key != "dead too" {
		t.Errorf("half of them were taken: %v", got)
	}
	want(t, s.AcquireLeases(t.Context(), []engine.Lease{{Key: "k"}}, alive, clash()), fault.Invalid)
}

// leasesTogetherRace lets many handles take what only one of them can have.
func leasesTogetherRace(t *testing.T, o Opener) {
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		h := open(t, o)
		wg.Go(func() {
			ls := []engine.Lease{lease(fmt.Sprintf("x%d", i), 100+i), lease(fmt.Sprintf("y%d", i), 100+i)}
			err := h.AcquireLeases(t.Context(), ls, always(true), func(engine.Lease) error { return fault.New(fault.Conflict, "", "held") })
			if err == nil {
				won.Add(1)
			} else if !fault.Is(err, fault.Conflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d processes hold what clashes", won.Load())
	}
}
