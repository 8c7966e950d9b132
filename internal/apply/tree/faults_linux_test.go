package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// rich and richer differ in every kind of step.
var (
	rich = sample.with(world{"shut/f": file("in a closed folder\n"), "shut": dirMode2(0o500)})

	richer = rich.with(world{
		"a.txt": file("ALPHA\n"), "bin/run": fileMode("#!/bin/sh\n", 0o700), "link": link("docs/two.md"),
		"docs": {}, "docs/one.md": {}, "docs/two.md": {}, "empty": {},
		"kinds/to-dir": dir(), "kinds/to-dir/f": file("f"), "kinds/to-link": link("/etc/passwd"), "kinds/from": file("file\n"),
		"kinds/dir": file("file\n"), "kinds/dir/x": {}, "kinds/dir/y": {}, "kinds/dir/y/z": {},
		"n/m/f": file("f\n"), "n/l": link("m/f"), "n/shut": dirMode2(0o500), "n/shut/f": fileMode("f\n", 0o400),
		"shut/f": file("changed\n"), "private": dirMode2(0o711),
	})
)

// failing returns a target whose n-th call from now on fails, or every call from
// the n-th on.
func failing(n int64, forEver bool) (*Target, *atomic.Int64) {
	var calls atomic.Int64
	return New(Options{Intercept: func(op, path string) error {
		if c := calls.Add(1); c == n || forEver && c > n {
			return fmt.Errorf("injected into %s of %s: %w", op, path, unix.ENOSPC)
		}
		return nil
	}}), &calls
}

// TestO72_EveryNthCallFails: the n-th file-system call of Prepare, Commit and Undo
// fails, for every n. What is repeated or undone after it gives the new tree or
// the old one, never anything between.
func TestO72_EveryNthCallFails(t *testing.T) {
	t.Parallel()
	for _, forEver := range []bool{false, true} {
		for _, phase := range []string{"prepare", "commit", "undo", "abandon"} {
			t.Run(fmt.Sprintf("%s/forever %v", phase, forEver), func(t *testing.T) {
				t.Parallel()
				eachSpotInMemory(t, func(t *testing.T, in, plan string) {
					f := fixtureIn(t, in, plan, rich, richer)
					stride := int64(1)
					switch {
					case testing.Short():
						stride = 17
					case forEver && !strings.HasPrefix(plan, in): // waits for the disk at every step
						stride = 5
					}
					n := int64(1)
					for ; f.fail(phase, n, forEver); n += stride {
						f.restored(fmt.Sprintf("%s, call %d failed", phase, n))
					}
					if n < 30 {
						t.Errorf("%s made only %d calls", phase, n)
					}
					t.Logf("%s: %d calls", phase, n-1)
				})
			})
		}
	}
}

// fail lets the n-th call of a phase fail, goes on from there, and comes back to
// the beginning. It reports false when the phase has fewer calls.
func (f *fixture) fail(phase string, n int64, forEver bool) bool {
	f.t.Helper()
	ctx := f.t.Context()
	broken, calls := failing(n, forEver)
	hit := func(err error) bool {
		if calls.Load() < n {
			check(f.t, err)
			return false
		}
		// A call whose answer does not matter may fail unseen (a clean-up that is
		// tried again, an optional attribute).
		if err != nil && !fault.Is(err, fault.Unavailable) && !strings.Contains(err.Error(), "injected") {
			f.t.Fatalf("%s, call %d: %v", phase, n, err)
		}
		return true
	}
	more := true
	if phase == "prepare" {
		_, err := broken.Prepare(ctx, f.req)
		more = hit(err)
		if err != nil && !forEver { // it cleaned up by itself
			f.restored(fmt.Sprintf("Prepare, call %d failed, before Abandon", n))
		}
		check(f.t, f.tgt.Abandon(ctx, f.plan, nil))
		if left, _ := os.ReadDir(f.plan); len(left) > 0 {
			f.t.Fatalf("Prepare, call %d: left in the plan's folder: %v", n, left)
		}
		return more
	}
	state := f.prepare()
	switch phase {
	case "abandon":
		more = hit(broken.Abandon(ctx, f.plan, state))
		check(f.t, f.tgt.Abandon(ctx, f.plan, state))
		return more
	case "commit":
		more = hit(broken.Commit(ctx, state))
		if n%2 == 0 {
			check(f.t, f.tgt.Commit(ctx, state))
			check(f.t, f.tgt.Verify(ctx, state))
			f.is(richer, fmt.Sprintf("Commit again after call %d failed", n))
		}
	case "undo":
		check(f.t, f.tgt.Commit(ctx, state))
		more = hit(broken.Undo(ctx, state))
	}
	check(f.t, f.tgt.CheckUndo(ctx, state))
	check(f.t, f.tgt.Undo(ctx, state))
	check(f.t, f.tgt.Abandon(ctx, f.plan, state))
	return more
}

// TestStageInTargetIsRecordedBeforeItIsMade: a crash between the two leaves a
// folder that Abandon knows of, never the reverse.
func TestStageInTargetIsRecordedBeforeItIsMade(t *testing.T) {
	t.Parallel()
	all := spots(t)
	if len(all) < 2 {
		t.Skip("this machine offers no second file system")
	}
	f := newFixture(t, filepath.Join(all[1].dir, "plan"), rich, richer)
	made := false
	f.tgt = New(Options{Intercept: func(op, path string) error {
		if op == "mkdir" && strings.HasPrefix(path, f.root+"/.ambit-try-k7m2q-") {
			made = true
			if _, err := os.Stat(f.plan + "/" + recordName); err != nil {
				t.Errorf("the stage is made before it is recorded: %v", err)
			}
		}
		return nil
	}})
	f.prepare()
	if !made {
		t.Error("no stage was made in the target")
	}
	check(t, f.tgt.Abandon(t.Context(), f.plan, nil))
	f.restored("after Abandon")
}
