//go:build linux

package crash

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// minHits is how often each phase of an apply must have been hit for the test
// to mean anything: of the fifth of the rounds that aims at it, an eighth.
func minHits(rounds int) int { return max(2, rounds/40) }

func rounds(t *testing.T) int {
	t.Helper()
	n := 200
	if testing.Short() {
		n = 40
	}
	if v := os.Getenv("AMBIT_KILL_ROUNDS"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatalf("AMBIT_KILL_ROUNDS: %v", err)
		}
	}
	return n
}

// build returns the command-line program: AMBIT_BIN, or this test binary, whose
// TestMain is ambit's main when it is called by that name.
func build(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("AMBIT_BIN"); bin != "" {
		return bin
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "ambit")
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	return bin
}

// TestKillNineAnywhere kills the command line at random moments of run, apply
// and recover, the phases in turn, and prints how often each was hit.
func TestKillNineAnywhere(t *testing.T) {
	bin := build(t)
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("AMBIT_KILL_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("AMBIT_KILL_SEED: %v", err)
		}
	}
	t.Logf("seed %d (AMBIT_KILL_SEED repeats it)", seed)
	n := rounds(t)
	var mu sync.Mutex
	hits := map[string]int{}
	aims := []string{"run", "prepare", "decision", "commit", "recover"}
	t.Run("round", func(t *testing.T) { // returns when all its parallel rounds have ended
		for i := range n {
			aim := aims[i%len(aims)]
			t.Run(fmt.Sprintf("%03d-%s", i, aim), func(t *testing.T) {
				t.Parallel() // most of a round waits for the disk
				w := newWorld(t, bin)
				phases := w.round(aim, rand.New(rand.NewPCG(seed, uint64(i))))
				mu.Lock()
				defer mu.Unlock()
				for _, phase := range phases {
					hits[phase]++
				}
			})
		}
	})
	var lines []string
	for phase, k := range hits {
		lines = append(lines, fmt.Sprintf("%4d %s", k, phase))
	}
	sort.Strings(lines)
	t.Logf("%d rounds, killed in:\n%s", n, strings.Join(lines, "\n"))
	if n < 40 {
		return
	}
	for _, phase := range []string{"prepare", "decision", "commit", "recover"} {
		if least := minHits(n); hits[phase] < least {
			t.Errorf("phase %s was hit %d times, want at least %d: the test proves nothing about it", phase, hits[phase], least)
		}
	}
}

// round plays one life of a plan with one kill (two for recover) and checks what
// is left; it returns the phases it hit.
func (w *world) round(aim string, rng *rand.Rand) []string {
	w.t.Helper()
	var hit []string
	if aim == "run" {
		hit = append(hit, w.killRun(rng))
	} else {
		w.must(w.runArgs()...)
		hit = append(hit, w.killApply(aim, rng)...)
	}
	w.recoverAndCheck()
	w.finish()
	return hit
}

// killRun starts a run and kills it after a random time.
func (w *world) killRun(rng *rand.Rand) string {
	w.t.Helper()
	cmd := w.command(w.runArgs()...)
	killed := w.start(cmd, func() {
		time.Sleep(time.Duration(rng.IntN(450_000)) * time.Microsecond)
	})
	if !killed {
		return "after run"
	}
	return "run: " + w.status()
}

// killApply kills an apply in the phase aimed at, told by the journal's last
// line, and says which phase it really was.
func (w *world) killApply(aim string, rng *rand.Rand) []string {
	w.t.Helper()
	journal := filepath.Join(w.home, "plans", w.plan(), "journal")
	wait := map[string]string{"prepare": `"kind":"prepare"`, "decision": `"kind":"prepare"`, "commit": `"kind":"commit"`, "recover": `"kind":"commit"`}[aim]
	span := map[string]int{"prepare": 30_000, "decision": 0, "commit": 15_000, "recover": 10_000}[aim]
	cmd := w.command("apply", "--yes")
	killed := w.start(cmd, func() {
		awaitLine(journal, wait, cmd)
		if aim == "decision" { // as close behind the record as a process can be
			awaitLine(journal, `"kind":"commit"`, cmd)
			return
		}
		time.Sleep(time.Duration(rng.IntN(span+1)) * time.Microsecond)
	})
	if !killed {
		return []string{"after apply"}
	}
	hit := []string{w.applyPhase(journal)}
	if aim != "recover" {
		return hit
	}
	rec := w.command("recover")
	if w.start(rec, func() { time.Sleep(time.Duration(5_000+rng.IntN(30_000)) * time.Microsecond) }) {
		hit = append(hit, "recover")
	}
	return hit
}

// start runs cmd, waits as when says, and kills it. It reports whether the
// process was still there to be killed.
func (w *world) start(cmd *exec.Cmd, when func()) bool {
	w.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	when()
	_ = cmd.Process.Kill() // an error means that it has ended, which the state below tells
	w.ended(cmd, <-done)
	ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if killed := ok && ws.Signaled(); killed {
		return true
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		w.t.Fatalf("%v ended with %d:\n%s", cmd.Args, code, out.String())
	}
	return false
}

// startWith runs cmd to its end, with something going on beside it.
func (w *world) startWith(cmd *exec.Cmd, beside func()) {
	w.t.Helper()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	beside()
	_ = cmd.Wait() // how it ended is looked at by the caller
}

// awaitLine spins until the file holds text or the process is gone.
func awaitLine(path, text string, cmd *exec.Cmd) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if raw, err := os.ReadFile(path); err == nil && bytes.Contains(raw, []byte(text)) {
			return
		}
		if syscall.Kill(cmd.Process.Pid, 0) != nil {
			return
		}
	}
}

// applyPhase names the phase a killed apply was in.
func (w *world) applyPhase(journal string) string {
	raw, _ := os.ReadFile(journal)
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1]
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	last := string(lines[len(lines)-1])
	moved := w.treeHash(w.repo) != w.oldRepo || w.treeHash(w.dir) != w.oldDir
	switch {
	case strings.Contains(last, `"kind":"prepare"`):
		return "prepare"
	case strings.Contains(last, `"kind":"commit"`) && !moved:
		return "decision"
	case strings.Contains(last, `"kind":"commit"`):
		return "commit"
	case len(raw) == 0:
		return "before prepare"
	}
	return "after commit"
}

func (w *world) status() string {
	obj, code := w.ambit("ps", "--all")
	if code != 0 {
		return "no store"
	}
	if ps, ok := obj["plans"].([]any); ok && len(ps) > 0 {
		if p, ok := ps[0].(map[string]any); ok {
			return fmt.Sprint(p["status"])
		}
	}
	return "no plan"
}
