package copytree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
)

// dieAt ends this process, as kill -9 does, at its n-th file-system call.
func dieAt(n int64) func(op, path string) error {
	var calls atomic.Int64
	return func(string, string) error {
		if calls.Add(1) == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is delivered
		}
		return nil
	}
}

// killed starts a role that dies at its n-th call, or after a delay, and says
// whether it was killed before it ended by itself.
func killed(t *testing.T, c *exec.Cmd, delay time.Duration) bool {
	t.Helper()
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the child never started: %v %s", err, stderr.String())
	}
	if delay > 0 {
		time.Sleep(delay)
		must(t, c.Process.Kill())
	}
	err = c.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Sys().(syscall.WaitStatus).Signaled() {
		t.Fatalf("the child failed: %v %s", err, stderr.String())
	}
	return err != nil
}

// crash runs fn's rounds: half of them are killed at a call spread over the
// whole operation, half at a random moment. Too few hits are a failure.
func crash(t *testing.T, s *scene, role string, calls int64, rounds int, env []string, after func(round int)) {
	t.Helper()
	hits := 0
	for round := range rounds {
		var delay time.Duration
		at := int64(0)
		if round%2 == 0 {
			at = 1 + calls*int64(round)/int64(rounds)
		} else {
			delay = time.Duration(rand.Int64N(int64(20 * time.Millisecond)))
		}
		c := spawn(t, s, role, append([]string{fmt.Sprintf("COPYTREE_DIE=%d", at), fmt.Sprintf("COPYTREE_NAME=k%d", round)}, env...)...)
		if killed(t, c, delay) {
			hits++
		}
		after(round)
	}
	t.Logf("%s: %d of %d rounds were killed before the end", role, hits, rounds)
	if hits < rounds/3 {
		t.Errorf("only %d of %d rounds hit", hits, rounds)
	}
}

// countCalls measures an operation.
func countCalls(strat *Strategy, fn func()) int64 {
	var n atomic.Int64
	strat.intercept = func(string, string) error { n.Add(1); return nil }
	fn()
	strat.intercept = nil
	return n.Load()
}

func rounds(t *testing.T) int {
	t.Helper()
	if testing.Short() {
		return 6
	}
	return 20
}

func TestC40_CreateSurvivesKill(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{false, true} {
		s := newScene(t)
		if git {
			s.git()
		} else {
			s.variety(s.src)
		}
		calls := countCalls(s.strat, func() { s.create() })
		must(t, s.again().Destroy(t.Context(), true))
		real := shape(t, s.src)
		crash(t, s, "create", calls, rounds(t), nil, func(round int) {
			if _, err := s.strat.Attach(t.Context(), engine.SandboxRecord{ID: "s1", Plan: "p1", Resource: s.req.Resource, Dir: s.req.Dir}); err == nil && round%2 == 0 {
				t.Logf("round %d: whole already", round)
			}
			sb := s.create()
			if !git {
				sameShape(t, shape(t, s.tree()), real)
			} else if out := s.sh(s.tree(), "git status --porcelain && git fsck --strict && git symbolic-ref HEAD"); !strings.Contains(out, "refs/heads/ambit/p1") {
				t.Errorf("round %d: %s", round, out)
			}
			set, _ := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
			if len(set.Changes) > 0 {
				t.Fatalf("round %d:\n%s", round, list(set))
			}
			must(t, sb.Destroy(t.Context(), true))
		})
		sameShape(t, shape(t, s.src), real)
	}
}

func TestC132_CheckpointSurvivesKill(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	sb := s.create()
	calls := countCalls(sb.strat, func() { must(t, sb.Checkpoint(t.Context(), "first")) })
	must(t, sb.Destroy(t.Context(), true))
	s.create()
	crash(t, s, "checkpoint", calls, rounds(t), []string{"COPYTREE_NAME=x"}, func(round int) {
		sb := s.again()
		want := shape(t, s.tree())
		must(t, sb.Checkpoint(t.Context(), "x"))
		sameShape(t, shape(t, s.tree()), want)
		must(t, os.RemoveAll(s.tree()+"/a"))
		must(t, sb.Restore(t.Context(), "x"))
		sameShape(t, shape(t, s.tree()), want)
		must(t, sb.Destroy(t.Context(), true))
		s.create()
	})
}

func TestO46_C132_RestoreSurvivesKill(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	sb := s.create()
	must(t, sb.Checkpoint(t.Context(), "one"))
	one := shape(t, s.tree())
	s.devastate(s.tree())
	must(t, sb.Checkpoint(t.Context(), "two"))
	two := shape(t, s.tree())
	calls := countCalls(sb.strat, func() { must(t, sb.Restore(t.Context(), "one")) })
	at := "one"
	shapes := map[string]string{"one": one, "two": two}
	neither := 0
	crash(t, s, "restore", calls, rounds(t), []string{"COPYTREE_NAME=two"}, func(round int) {
		// Old or new, nothing between.
		sb := s.again()
		_, err := sb.Enter(t.Context())
		must(t, err)
		switch shape(t, s.tree()) {
		case one, two:
		default:
			neither++
		}
		// Repeated, it comes to its end, and back.
		must(t, s.again().Restore(t.Context(), "two"))
		sameShape(t, shape(t, s.tree()), two)
		must(t, s.again().Restore(t.Context(), at))
		sameShape(t, shape(t, s.tree()), shapes[at])
	})
	if neither > 0 {
		t.Errorf("%d times the tree was neither the old state nor the new one", neither)
	}
}

// TestC132_EveryFailureLeavesTheSandbox fails each n-th call of a checkpoint and
// of a restore: the tree stays what it was or becomes what was asked for, and
// the operation can be repeated.
func TestC132_EveryFailureLeavesTheSandbox(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	sb := s.create()
	must(t, sb.Checkpoint(t.Context(), "one"))
	one := shape(t, s.tree())
	s.devastate(s.tree())
	must(t, sb.Checkpoint(t.Context(), "two"))
	two := shape(t, s.tree())
	failAt := func(n int64) func(string, string) error {
		var calls atomic.Int64
		return func(string, string) error {
			if calls.Add(1) == n {
				return unix.EIO
			}
			return nil
		}
	}
	step := int64(7)
	if testing.Short() {
		step = 31
	}
	failed, done := 0, 0
	for n := int64(1); ; n += step {
		sb := s.again()
		sb.strat.intercept = failAt(n)
		err := sb.Restore(t.Context(), "one")
		sb.strat.intercept = nil
		_, eerr := s.again().Enter(t.Context()) // as before any command
		must(t, eerr)
		got := shape(t, s.tree())
		if err == nil && got != one {
			t.Fatalf("call %d failed, Restore succeeded, and the state is another", n)
		}
		if got != one && got != two {
			sameShape(t, got, two)
		}
		if err == nil {
			if done++; done > 3 {
				break
			}
		} else {
			failed++
		}
		must(t, s.again().Restore(t.Context(), "two"))
	}
	t.Logf("%d failed restores", failed)
	if failed < 8 {
		t.Errorf("only %d restores failed", failed)
	}
	must(t, s.again().Restore(t.Context(), "two"))
	failed, done = 0, 0
	for n := int64(1); done < 3; n += step {
		sb := s.again()
		write(t, s.tree()+"/fresh", fmt.Sprint("contents ", n)) // something to store each time
		want := shape(t, s.tree())
		name := fmt.Sprintf("try%d", n)
		sb.strat.intercept = failAt(n)
		err := sb.Checkpoint(t.Context(), name)
		sb.strat.intercept = nil
		_, eerr := s.again().Enter(t.Context())
		must(t, eerr)
		sameShape(t, shape(t, s.tree()), want)
		if err == nil {
			done++
		} else {
			failed++
		}
		must(t, s.again().Checkpoint(t.Context(), name))
		write(t, s.tree()+"/fresh", "other")
		must(t, s.again().Restore(t.Context(), name))
		sameShape(t, shape(t, s.tree()), want)
	}
	t.Logf("%d failed checkpoints", failed)
	if failed < 2 {
		t.Errorf("only %d checkpoints failed", failed)
	}
}

// TestExchangeInTwoSteps takes the way of a file system that cannot exchange
// names, and is cut off between its two steps.
func TestExchangeInTwoSteps(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	sb := s.create()
	must(t, sb.Checkpoint(t.Context(), "one"))
	one := shape(t, s.tree())
	s.devastate(s.tree())
	renames := 0
	sb.strat.intercept = func(op, _ string) error {
		switch op {
		case "exchange":
			return unix.EINVAL
		case "rename":
			renames++
		}
		return nil
	}
	must(t, sb.Restore(t.Context(), "one"))
	sameShape(t, shape(t, s.tree()), one)
	if renames < 2 {
		t.Fatal("the exchange was not refused: the test tests nothing")
	}
	s.devastate(s.tree())
	two := shape(t, s.tree())
	must(t, os.Rename(s.tree(), s.req.Dir+"/"+oldDir))           // cut off here
	set, _ := changes(t, s.again(), "one", engine.CheckpointNow) // reads, and mends nothing
	if len(set.Changes) == 0 {
		t.Error("the state before is lost")
	}
	_, err := s.again().Enter(t.Context())
	must(t, err)
	sameShape(t, shape(t, s.tree()), two)
}

// TestC132_ShutFilesSurviveKill kills checkpoints while they have made readable
// what the tree's owner must not read.
func TestC132_ShutFilesSurviveKill(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads everything as it is")
	}
	s := newScene(t)
	s.create()
	s.sh(s.tree(), `mkdir -p a/b && echo f > a/b/f && echo g > g && chmod 0 a/b/f && ln g g2 && chmod 0200 g && chmod 0 a/b && chmod 0300 a`)
	modes := func() string {
		return s.sh(s.tree(), `m() { stat -c %a "$1"; }; m a; m g; m g2; chmod 0700 a; m a/b; chmod 0700 a/b; m a/b/f; chmod 0 a/b; chmod 0300 a`)
	}
	want := modes()
	sb := s.again()
	calls := countCalls(sb.strat, func() { must(t, sb.Checkpoint(t.Context(), "first")) })
	crash(t, s, "checkpoint", calls, rounds(t), nil, func(round int) {
		_, err := s.again().Enter(t.Context())
		must(t, err)
		if got := modes(); got != want {
			t.Fatalf("round %d: modes are\n%s\nwere\n%s", round, got, want)
		}
	})
}

func TestCanceledCreateStops(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range 200 {
		write(t, fmt.Sprintf("%s/f%d", s.src, i), "x")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	s.req.Progress = func(engine.Progress) { cancel(errors.New("enough")) }
	if _, err := s.strat.Create(ctx, s.req); err == nil {
		t.Log("it was done before the cancellation was seen")
	}
	s.req.Progress = nil
	s.create()
}
