//go:build linux

package crash

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestKillHolder kills the outer holder, or its pid 1, at random moments of a
// run. The command line must notice, the step must not count as done, no process
// may stay, and the plan must go on from there.
func TestKillHolder(t *testing.T) {
	bin := build(t)
	seed := uint64(time.Now().UnixNano())
	n := max(6, rounds(t)/20)
	var hit atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d rounds, %d holders killed while a step ran", n, hit.Load())
		if hit.Load() == 0 {
			t.Error("no holder was killed: the test proves nothing")
		}
	})
	for i := range n {
		victim := []string{"ambit-holder", "ambit-init"}[i%2]
		t.Run(fmt.Sprintf("%03d-%s", i, victim), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			w := newWorld(t, bin)
			cmd := w.command(w.runArgs()...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- cmd.Wait() }()
			pid := w.awaitProcess(victim, done)
			if pid != 0 {
				time.Sleep(time.Duration(rng.IntN(60_000)) * time.Microsecond)
				killed := syscall.Kill(pid, syscall.SIGKILL) == nil
				w.ended(cmd, <-done)
				if code := cmd.ProcessState.ExitCode(); killed && code != 0 {
					hit.Add(1)
				} else if code == 0 && w.status() != "review" {
					t.Errorf("the run says it went well, but the plan is %s:\n%s", w.status(), out.String())
				}
			}
			w.recoverAndCheck()
			w.finish()
		})
	}
}

// awaitProcess waits for a process of this world whose arguments hold word; 0
// when the command line ended first.
func (w *world) awaitProcess(word string, done chan error) int {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		select {
		case err := <-done:
			done <- err
			return 0
		default:
		}
		id := w.plan()
		entries, err := os.ReadDir("/proc")
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || id == "" {
				continue
			}
			raw, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			args := strings.Split(string(raw), "\x00")
			if len(args) > 2 && args[1] == word && args[2] == id {
				return pid
			}
		}
	}
	w.t.Fatalf("no %s appeared", word)
	return 0
}

const fiveSteps = `# Five steps

## Tasks

- [ ] One

  ` + "```sh" + `
  echo 1 >> runs.txt
  ` + "```" + `

- [ ] Two (depends on n01)

  ` + "```sh" + `
  echo 2 >> runs.txt
  ` + "```" + `

- [ ] Three (depends on n02)

  ` + "```sh" + `
  echo 3 >> runs.txt
  [ -e "$DIR/go" ] || { echo waiting; while :; do sleep 0.05; done; }
  ` + "```" + `

- [ ] Four (depends on n03)

  ` + "```sh" + `
  echo 4 >> runs.txt
  ` + "```" + `

- [ ] Five (depends on n04)

  ` + "```sh" + `
  echo 5 >> runs.txt
  ` + "```" + `
`

// TestResumeRunsFinishedStepsOnce kills the command line in step 3 of 5. After a
// resume steps 1 and 2 have run once, and what step 3 had written half is gone.
func TestResumeRunsFinishedStepsOnce(t *testing.T) {
	w := newWorld(t, build(t))
	w.write(filepath.Join(w.base, "five.md"), fiveSteps)
	cmd := w.command("run", filepath.Join(w.base, "five.md"), "--resource", w.repo, "--resource", w.dir, "--env", "DIR")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := func() string { return filepath.Join(w.home, "plans", w.plan(), "logs", "n03-three.log") }
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if raw, err := os.ReadFile(log()); err == nil && bytes.Contains(raw, []byte("waiting")) {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("step three never came to wait:\n%s", out.String())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	w.write(filepath.Join(w.dir, "go"), "")
	id := w.plan()
	if st := w.status(); st != "interrupted" {
		t.Errorf("before the resume the plan is %s, want interrupted", st)
	}
	w.must("run", "--resume", id)
	w.must("apply", id, "--yes")
	raw, err := os.ReadFile(filepath.Join(w.repo, "runs.txt"))
	if err != nil || string(raw) != "1\n2\n3\n4\n5\n" {
		t.Errorf("runs.txt is %q, %v", raw, err)
	}
	plan := w.must("status", id)["plan"].(map[string]any)
	for i, s := range plan["steps"].([]any) {
		want := []float64{1, 1, 2, 1, 1}[i]
		if got := s.(map[string]any)["runs"]; got != want {
			t.Errorf("step %d ran %v times, want %v", i+1, got, want)
		}
	}
}
