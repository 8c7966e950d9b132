//go:build linux

package guard

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

const (
	argGuard  = "test-guard"
	argCaller = "test-caller" // with the plan's folder: runs the littering command
)

func TestMain(m *testing.M) {
	st := holder.Stages{
		Prepare: func(holder.Inside) error { return nil },
		Seal:    func(holder.Inside, holder.Job) error { return nil },
	}
	if handled, code := holder.ReexecAlone(os.Args, argGuard, st); handled {
		os.Exit(code)
	}
	if len(os.Args) == 3 && os.Args[1] == argCaller {
		w := &Warden{PlanDir: os.Args[2], Spec: "s", Arg: argGuard, NewToken: rand.Text}
		_, _ = w.Run(context.Background(), engine.Command{Name: "litter", Argv: []string{"/bin/sh", "-c", littering + "sleep 1000"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}})
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// littering leaves processes behind in every way there is.
const littering = "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; trap '' TERM INT HUP; "

func warden(t *testing.T) *Warden {
	return &Warden{PlanDir: t.TempDir(), Spec: "s", Arg: argGuard, NewToken: rand.Text}
}

// theRecord waits for the plan's only record and its marked processes.
func theRecord(t *testing.T, planDir string, atLeast int) record {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		rs, err := records(planDir)
		if err == nil && len(rs) == 1 && len(marked(rs[0].Token)) >= atLeast {
			return rs[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v %v", rs, err)
		}
		<-time.After(time.Millisecond)
	}
}

func wantGone(t *testing.T, token string) {
	t.Helper()
	if left := marked(token); len(left) > 0 {
		for _, id := range left {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
			t.Errorf("%d %q still runs", id.PID, b)
			_ = unix.Kill(id.PID, unix.SIGKILL)
		}
	}
}

func TestTreeEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	w := warden(t)
	var out bytes.Buffer
	exit, err := w.Run(t.Context(), engine.Command{
		Name: "x", Argv: []string{"/bin/sh", "-c", littering + "echo $AMBIT_ENTRY; while [ $(grep -lz AMBIT_ENTRY=$AMBIT_ENTRY /proc/[0-9]*/environ 2>/dev/null | wc -l) -lt 6 ]; do :; done; exit 3"},
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out,
	})
	if err != nil || exit.Code != 3 || exit.Killed < 4 {
		t.Errorf("%+v %v", exit, err)
	}
	wantGone(t, strings.TrimSpace(out.String()))
	if es, _ := os.ReadDir(recordsDir(w.PlanDir)); len(es) != 0 {
		t.Errorf("records are left: %v", es)
	}
}

// TestForkingTree is killed while it forks as fast as it can.
func TestForkingTree(t *testing.T) {
	t.Parallel()
	w := warden(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.Run(ctx, engine.Command{
			Name: "forks", Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
			Argv: []string{"/bin/sh", "-c", "f() { while :; do setsid sleep 0.2 & sleep 0.01; done; }; f & f & f"},
		})
		done <- err
	}()
	r := theRecord(t, w.PlanDir, 8)
	cancel(fmt.Errorf("enough"))
	if err := <-done; err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	wantGone(t, r.Token)
}

func TestGuardIsKilled(t *testing.T) {
	t.Parallel()
	w := warden(t)
	done := make(chan error, 1)
	go func() {
		_, err := w.Run(t.Context(), engine.Command{Name: "x", Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Argv: []string{"/bin/sh", "-c", littering + "sleep 1000"}})
		done <- err
	}()
	r := theRecord(t, w.PlanDir, 6)
	_ = unix.Kill(r.Guard.PID, unix.SIGKILL)
	if err := <-done; !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
	wantGone(t, r.Token)
}

// TestCallerIsKilled: the guard ends the tree by itself.
func TestCallerIsKilled(t *testing.T) {
	t.Parallel()
	plan := t.TempDir()
	c := exec.Command("/proc/self/exe", argCaller, plan)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r := theRecord(t, plan, 6)
	if live, err := Live(plan); err != nil || len(live) != 1 || live[0].Name != "litter" {
		t.Errorf("%+v %v", live, err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	deadline := time.Now().Add(20 * time.Second)
	for len(marked(r.Token)) > 0 && time.Now().Before(deadline) {
		<-time.After(time.Millisecond)
	}
	wantGone(t, r.Token)
}

// TestBothAreKilled: what nobody could end is ended when the plan is next opened.
func TestBothAreKilled(t *testing.T) {
	t.Parallel()
	plan := t.TempDir()
	c := exec.Command("/proc/self/exe", argCaller, plan)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r := theRecord(t, plan, 6)
	_ = unix.Kill(r.Guard.PID, unix.SIGSTOP) // so that it does not notice before it dies
	_ = c.Process.Kill()
	_ = unix.Kill(r.Guard.PID, unix.SIGKILL)
	_ = c.Wait()
	for deadline := time.Now().Add(20 * time.Second); r.alive() && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
	w := &Warden{PlanDir: plan, Spec: "s", Arg: argGuard, NewToken: rand.Text}
	if err := w.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantGone(t, r.Token)
	if r.Group != "" {
		if _, err := os.Stat(r.Group); err == nil {
			t.Errorf("the cgroup %s is left", r.Group)
		}
	}
}

func TestConflictsAndForce(t *testing.T) {
	t.Parallel()
	w := warden(t)
	done := make(chan error, 1)
	go func() {
		_, err := w.Run(t.Context(), engine.Command{Name: "step one", Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Argv: []string{"/bin/sh", "-c", littering + "sleep 1000"}})
		done <- err
	}()
	r := theRecord(t, w.PlanDir, 6)
	other := *w
	other.Spec = "other"
	if err := other.Open(t.Context()); !fault.Is(err, fault.Conflict) || fault.As(err).Paths[0] != "step one" {
		t.Errorf("%v", err)
	}
	if err := w.Open(t.Context()); err != nil {
		t.Errorf("the same spec: %v", err)
	}
	if err := Close(t.Context(), w.PlanDir, false); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	if err := Close(t.Context(), w.PlanDir, true); err != nil {
		t.Error(err)
	}
	wantGone(t, r.Token)
	if err := <-done; !fault.Is(err, fault.Unavailable) {
		t.Errorf("the ended command's caller hears %v", err)
	}
}

// TestRecordOfAnother is a record whose guard's pid belongs to somebody else now.
func TestC122_RecordOfAnother(t *testing.T) {
	t.Parallel()
	plan := t.TempDir()
	bystander := exec.Command("sleep", "1000")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	r := record{Token: "T", Name: "old", Spec: "s"}
	r.Guard.PID, r.Guard.Start = bystander.Process.Pid, "1"
	if err := r.write(plan); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(recordsDir(plan), "junk.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if live, err := Live(plan); err != nil || len(live) != 0 {
		t.Errorf("%v %v", live, err)
	}
	if err := Close(t.Context(), plan, true); err != nil {
		t.Error(err)
	}
	if unix.Kill(bystander.Process.Pid, 0) != nil {
		t.Error("a bystander was killed")
	}
}
