package tree

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
)

const crashEnv = "AMBIT_TREE_CRASH"

// crashOrder is what a child is told to do.
type crashOrder struct {
	Phase string // "prepare", "commit" or "undo"
	Root  string
	Plan  string
	At    int64 // it kills itself before this call; 0 = the parent kills it
	State json.RawMessage
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(crashEnv); raw != "" {
		os.Exit(crashChild(raw))
	}
	goleak.VerifyTestMain(m)
}

// crashChild does one phase and dies in it.
func crashChild(raw string) int {
	var o crashOrder
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		fmt.Println(err)
		return 2
	}
	var calls atomic.Int64
	tgt := New(Options{Intercept: func(string, string) error {
		if calls.Add(1) == o.At {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // no further instruction of ours runs
		}
		return nil
	}})
	fmt.Println("ready")
	var err error
	switch o.Phase {
	case "prepare":
		_, err = tgt.Prepare(context.Background(), engine.TargetRequest{
			Plan: "try-k7m2q", Resource: engine.Resource{Type: engine.TypeFSDirectory, Path: o.Root}, Dir: o.Plan,
			Set: diff(rich, richer), Src: worlds{rich, richer},
		})
	case "commit":
		err = tgt.Commit(context.Background(), o.State)
	case "undo":
		err = tgt.Undo(context.Background(), o.State)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// crash runs a phase in a child that is killed; it reports whether it was killed
// (and not through before).
func (f *fixture) crash(o crashOrder, after time.Duration) bool {
	f.t.Helper()
	o.Root, o.Plan = f.root, f.plan
	raw, err := json.Marshal(o)
	check(f.t, err)
	cmd := exec.CommandContext(f.t.Context(), "/proc/self/exe", "-test.run=^$")
	cmd.Env = append(os.Environ(), crashEnv+"="+string(raw))
	out, err := cmd.StdoutPipe()
	check(f.t, err)
	check(f.t, cmd.Start())
	said := make([]byte, 4096)
	n, _ := out.Read(said) // "ready"
	if o.At == 0 {
		time.Sleep(after) // the moment is what is random here
		_ = cmd.Process.Kill()
	}
	more, _ := out.Read(said[n:])
	err = cmd.Wait()
	if err == nil {
		return false
	}
	if ws, ok := cmd.ProcessState.Sys().(interface{ Signaled() bool }); !ok || !ws.Signaled() {
		f.t.Fatalf("the child failed: %v: %s", err, said[:n+more])
	}
	return true
}

// TestKilledAtEveryCall: a process is SIGKILLed before its n-th file-system call.
// Another one then finishes or reverses the apply.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	stride := int64(5)
	if testing.Short() {
		stride = 40
	}
	eachSpotInMemory(t, func(t *testing.T, in, plan string) {
		f := fixtureIn(t, in, plan, rich, richer)
		for _, phase := range []string{"prepare", "commit", "undo"} {
			killed := 0
			for n := 1 + rand.Int64N(stride); ; n += stride {
				if !f.killAndRecover(phase, n, 0) {
					break
				}
				killed++
			}
			if killed < 5 {
				t.Errorf("%s was killed only %d times", phase, killed)
			}
			t.Logf("%s: killed %d times", phase, killed)
		}
	})
}

// TestKilledAtRandomMoments does the same by the clock.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	eachSpotInMemory(t, func(t *testing.T, in, plan string) {
		f := fixtureIn(t, in, plan, rich, richer)
		for _, phase := range []string{"prepare", "commit", "undo"} {
			killed := 0
			for range rounds {
				if f.killAndRecover(phase, 0, rand.N(25*time.Millisecond)) {
					killed++
				}
			}
			t.Logf("%s: killed %d of %d times", phase, killed, rounds)
		}
	})
}

func (f *fixture) killAndRecover(phase string, n int64, after time.Duration) bool {
	f.t.Helper()
	ctx := f.t.Context()
	what := fmt.Sprintf("%s killed at call %d or after %v", phase, n, after)
	if phase == "prepare" {
		killed := f.crash(crashOrder{Phase: phase, At: n}, after)
		check(f.t, f.tgt.Abandon(ctx, f.plan, nil))
		f.restored(what)
		if left, _ := os.ReadDir(f.plan); len(left) > 0 {
			f.t.Fatalf("%s: left in the plan's folder: %v", what, left)
		}
		return killed
	}
	state := f.prepare()
	if phase == "undo" {
		check(f.t, f.tgt.Commit(ctx, state))
	}
	killed := f.crash(crashOrder{Phase: phase, At: n, State: state}, after)
	if phase == "commit" && rand.IntN(2) == 0 {
		check(f.t, f.tgt.Commit(ctx, state))
		check(f.t, f.tgt.Verify(ctx, state))
		f.is(richer, what+", then committed")
	}
	check(f.t, f.tgt.Undo(ctx, state))
	check(f.t, f.tgt.Abandon(ctx, f.plan, state))
	f.restored(what)
	return killed
}

// TestCrashTestsCanFail: the checks above see a tree that is neither old nor new.
func TestCrashTestsCanFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, richer)
	state := f.prepare()
	if !f.crash(crashOrder{Phase: "commit", At: 60, State: state}, 0) {
		t.Fatal("not killed")
	}
	now := scan(t, f.root)
	if rich.differences(now) == "" || richer.differences(now) == "" {
		t.Error("a half-done commit looks like a whole one")
	}
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
}
