package git_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/apply/git"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
	"go.uber.org/goleak"
)

// The test binary doubles as the process that is killed: it runs one method of a
// target over a state it reads from a file.
func TestMain(m *testing.M) {
	if what := os.Getenv("AMBIT_TEST_APPLY"); what != "" {
		os.Exit(child(what))
	}
	goleak.VerifyTestMain(m)
}

func child(what string) int {
	state, err := os.ReadFile(os.Getenv("AMBIT_TEST_STATE"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	dir := os.Getenv("AMBIT_TEST_GITDIR")
	tg := git.New(config(gitx.New(gitx.Config{Path: os.Getenv("PATH"), Home: dir, Dir: dir}), nil), engine.ToCommit)
	fmt.Println("go") // the clock of the killer starts here
	if what == "commit" {
		err = tg.Commit(context.Background(), state)
	} else {
		err = tg.Undo(context.Background(), state)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runKilled runs a method in a process of its own, killed after d. It reports
// whether the process ended by itself, and after what time.
func (s *scene) runKilled(what string, state json.RawMessage, d time.Duration) (bool, time.Duration) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "state")
	mustDo(s.t, os.WriteFile(file, state, 0o600))
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "AMBIT_TEST_APPLY="+what, "AMBIT_TEST_STATE="+file, "AMBIT_TEST_GITDIR="+filepath.Dir(s.dir))
	out, err := cmd.StdoutPipe()
	mustDo(s.t, err, cmd.Start())
	if _, err := out.Read(make([]byte, 3)); err != nil {
		s.t.Fatalf("the process did not start: %v", err)
	}
	began := time.Now()
	timer := time.AfterFunc(d, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	timer.Stop()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		s.t.Fatalf("%s failed by itself: %v", what, err)
	}
	return err == nil, time.Since(began)
}

func crashScene(t *testing.T) *scene {
	t.Helper()
	s := rich(t)
	s.edit()
	for i := range 30 {
		s.box.Write(fmt.Sprintf("many/%02d", i), fmt.Sprint(i))
	}
	mustDo(t,
		os.RemoveAll(filepath.Join(s.box.Dir, "d2f")), os.WriteFile(filepath.Join(s.box.Dir, "d2f"), []byte("now a file"), 0o644),
		os.Remove(filepath.Join(s.box.Dir, "f2d")), os.Mkdir(filepath.Join(s.box.Dir, "f2d"), 0o755), os.WriteFile(filepath.Join(s.box.Dir, "f2d/y"), []byte("y"), 0o644))
	s.box.Commit("plan")
	s.real.Write("keep", "my edit", "untracked", "u")
	return s
}

// TestKilledCommit kills the process at random moments of Commit and Undo. After
// the next attempt, forward or back, everything is new or everything is old.
func TestKilledCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a minute of kills")
	}
	t.Parallel()
	rounds := 40
	if v, err := strconv.Atoi(os.Getenv("AMBIT_KILL_ROUNDS")); err == nil {
		rounds = v
	}
	s := crashScene(t)
	before, tree := s.real.State(), list(t, s.real.Dir)
	tg := s.target(engine.ToCommit)
	state := s.prepare(engine.ToCommit, s.request(true))
	ended, whole := s.runKilled("commit", state, time.Minute)
	if !ended {
		t.Fatal("an undisturbed commit did not end")
	}
	after, newTree := settled(s.real), list(t, s.real.Dir)
	s.undo(engine.ToCommit, state)

	var killed, cut, done int
	for done < rounds || killed < rounds/4 && done < 4*rounds {
		done++
		s.dir = filepath.Join(t.TempDir(), "apply")
		mustDo(t, os.Mkdir(s.dir, 0o700))
		state := s.prepare(engine.ToCommit, s.request(true))
		if ended, took := s.runKilled("commit", state, time.Duration(rand.Int64N(int64(whole)))); !ended {
			killed++
		} else {
			whole = min(whole, took) // a machine that was busy when the first was timed
		}
		if half := settled(s.real); half != after {
			cut++
		}
		if rand.IntN(2) == 0 { // roll forward, killed once more
			s.runKilled("commit", state, time.Duration(rand.Int64N(int64(whole))))
			mustDo(t, tg.Commit(t.Context(), state), tg.Verify(t.Context(), state))
			if settled(s.real) != after || list(t, s.real.Dir) != newTree {
				t.Fatalf("rolled forward to another state:\n%s\n--- want\n%s", settled(s.real), after)
			}
		}
		s.runKilled("undo", state, time.Duration(rand.Int64N(int64(whole))))
		mustDo(t, tg.Undo(t.Context(), state))
		s.noLeftovers()
		if s.real.State() != before || list(t, s.real.Dir) != tree {
			t.Fatalf("rolled back to another state:\n%s\n--- want\n%s", s.real.State(), before)
		}
	}
	s.real.Fsck()
	rounds = done
	t.Logf("%d rounds, %d commits killed, %d of them left work for recovery", rounds, killed, cut)
	if killed < 5 || cut == 0 {
		t.Fatalf("only %d of %d commits were killed, %d in the middle: the test does not bite", killed, rounds, cut)
	}
}

// TestFaultAtEveryCall lets the n-th file-system call of Commit, then of Undo,
// fail: for every n with AMBIT_FAULTS=all, else for every fourth from a random
// start. The other method, or a second attempt, always comes through.
func TestFaultAtEveryCall(t *testing.T) {
	if testing.Short() {
		t.Skip("short: several hundred attempts")
	}
	t.Parallel()
	s := newScene(t, "mod", "m\n", "gone/a", "a", "d2f/x", "x", "f2d", "f", "keep", "k")
	s.box.Write("mod", "plan\n", "new/n", "n")
	mustDo(t, os.RemoveAll(filepath.Join(s.box.Dir, "gone")), os.RemoveAll(filepath.Join(s.box.Dir, "d2f")), os.Remove(filepath.Join(s.box.Dir, "f2d")))
	s.box.Write("d2f", "file", "f2d/y", "y").Commit("plan")
	before, tree := s.real.State(), list(t, s.real.Dir)
	state := s.apply(engine.ToCommit, s.request(true))
	newTree := list(t, s.real.Dir)
	s.undo(engine.ToCommit, state)
	good := s.target(engine.ToCommit)

	boom := errors.New("injected fault")
	attempts, tolerated := 0, 0
	stride, first := int64(4), 1+rand.Int64N(4)
	if os.Getenv("AMBIT_FAULTS") == "all" {
		stride, first = 1, 1
	}
	for _, undo := range []bool{false, true} {
		for n := first; ; n += stride {
			s.dir = filepath.Join(t.TempDir(), "apply")
			mustDo(t, os.Mkdir(s.dir, 0o700))
			state, err := good.Prepare(t.Context(), s.request(true))
			mustDo(t, err)
			if undo {
				mustDo(t, good.Commit(t.Context(), state))
			}
			var calls atomic.Int64
			cfg := config(s.git, func(string, string) error {
				if calls.Add(1) == n {
					return boom
				}
				return nil
			})
			bad := git.New(cfg, engine.ToCommit)
			if undo {
				err = bad.Undo(t.Context(), state)
			} else {
				err = bad.Commit(t.Context(), state)
			}
			done := calls.Load() < n
			if err == nil && !done {
				tolerated++ // a call whose failure does no harm
			}
			attempts++
			if !undo && attempts%2 == 0 {
				mustDo(t, good.Commit(t.Context(), state), good.Verify(t.Context(), state))
				if list(t, s.real.Dir) != newTree {
					t.Fatalf("call %d: rolled forward to another tree", n)
				}
				s.noLeftovers()
			}
			mustDo(t, good.Undo(t.Context(), state))
			if s.real.State() != before || list(t, s.real.Dir) != tree {
				t.Fatalf("undo=%v, call %d: another state\n%s\n--- want\n%s", undo, n, s.real.State(), before)
			}
			s.noLeftovers()
			if done {
				break
			}
		}
	}
	s.real.Fsck()
	t.Logf("%d attempts, %d without consequence", attempts, tolerated)
	if tolerated > attempts/4 {
		t.Fatal("most faults are ignored: the test does not bite")
	}
}

// TestFaultInPrepare lets each call of Prepare fail: the repository is as it was.
func TestFaultInPrepare(t *testing.T) {
	t.Parallel()
	s := newScene(t, "mod", "m\n", "gone", "g")
	s.box.Write("mod", "plan\n", "new/n", "n")
	mustDo(t, os.Remove(filepath.Join(s.box.Dir, "gone")))
	s.box.Commit("plan")
	before := s.real.State() + list(t, s.real.Dir)
	boom := errors.New("injected fault")
	attempts, tolerated := 0, 0
	for n := int64(1); ; n++ {
		var calls atomic.Int64
		cfg := config(s.git, func(string, string) error {
			if calls.Add(1) == n {
				return boom
			}
			return nil
		})
		s.dir = filepath.Join(t.TempDir(), "apply")
		mustDo(t, os.Mkdir(s.dir, 0o700))
		_, err := git.New(cfg, engine.ToCommit).Prepare(t.Context(), s.request(true))
		if calls.Load() < n {
			mustDo(t, err)
			break
		}
		if attempts++; err == nil {
			tolerated++
		}
		mustDo(t, s.target(engine.ToCommit).Abandon(t.Context(), s.dir, nil))
		if after := s.real.State() + list(t, s.real.Dir); after != before {
			t.Fatalf("call %d changed the repository", n)
		}
		s.noLeftovers()
	}
	t.Logf("%d attempts, %d without consequence", attempts, tolerated)
	if tolerated > attempts/4 {
		t.Fatal("most faults are ignored: the test does not bite")
	}
}

// TestStateIsChecked: a state whose paths were tampered with is refused.
func TestStateIsChecked(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.box.Write("a", "plan").Commit("plan")
	state := s.prepare(engine.ToCommit, s.request(true))
	p := filepath.Join(s.dir, "paths.json")
	data, err := os.ReadFile(p)
	mustDo(t, err, os.WriteFile(p, append(data, ' '), 0o600))
	if err := s.target(engine.ToCommit).Commit(t.Context(), state); !fault.Is(err, fault.Stale) {
		t.Fatalf("got %v", err)
	}
}

// settled is a repository's state without the lines whose times differ from one
// apply to the next.
func settled(r *gittest.Repo) string {
	return r.Git("for-each-ref") + r.Git("ls-files", "-s") + r.Git("status", "--porcelain")
}
