package confine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if handled, code := Reexec(os.Args); handled {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// spec is a plan over a folder that every rung can hold: the sandbox is a copy.
func spec(t *testing.T, rung engine.Rung) (engine.CageSpec, string) {
	t.Helper()
	base := t.TempDir()
	tree, plan := filepath.Join(base, "tree"), filepath.Join(base, "state/plans/p")
	sandbox := filepath.Join(plan, "s1")
	for _, d := range []string{tree, sandbox, filepath.Join(base, "home")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "a.txt"), []byte("in "+filepath.Base(d)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := engine.CageSpec{
		Plan: "p", PlanDir: plan, StateDir: filepath.Join(base, "state"), Home: engine.HomeTools, HomeDir: filepath.Join(base, "home"),
		Path: os.Getenv("PATH"), Network: engine.NetworkNone, Real: []string{tree},
		Sandbox: []engine.Entrance{{Root: sandbox, Path: sandbox}},
	}
	if rung == engine.RungNative {
		s.Sandbox = []engine.Entrance{{Root: tree, Mounts: []engine.Mount{{Kind: engine.MountBind, Source: sandbox, Target: tree}}}}
	}
	return s, sandbox
}

// TestEveryRung holds each rung of the ladder to the contract of engine.Confiner.
func TestEveryRung(t *testing.T) {
	t.Parallel()
	var rungs []engine.Rung
	for _, c := range All() {
		rungs = append(rungs, c.Rung())
		t.Run(string(c.Rung()), func(t *testing.T) {
			t.Parallel()
			p, err := c.Probe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !p.OK {
				if p.Reason == "" || len(p.Missing) == 0 {
					t.Errorf("a rung that is not to be had says nothing: %+v", p)
				}
				t.Skip(p.Reason)
			}
			conform(t, c)
		})
	}
	if want := []engine.Rung{engine.RungNative, engine.RungLandlock, engine.RungNone}; !slices.Equal(rungs, want) {
		t.Errorf("the ladder is %v, want %v", rungs, want)
	}
}

func conform(t *testing.T, c engine.Confiner) {
	s, sandbox := spec(t, c.Rung())
	if err := c.Close(t.Context(), s, false); err != nil {
		t.Errorf("closing what was never opened: %v", err)
	}
	if live, err := c.Live(t.Context(), s.PlanDir); err != nil || len(live) != 0 {
		t.Errorf("%v %v", live, err)
	}
	cage, err := c.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.HomeDir}
	command := func(out *bytes.Buffer, argv ...string) engine.Command {
		cmd := engine.Command{Name: "test " + argv[0], Argv: argv, Dir: s.Sandbox[0].Root, Env: env}
		if out != nil {
			cmd.Stdout, cmd.Stderr = out, out
		}
		return cmd
	}

	var out bytes.Buffer
	exit, err := cage.Run(t.Context(), command(&out, "sh", "-c", "cat a.txt; pwd; echo made > b.txt; sleep 1000 & exit 7"))
	if want := "in s1\n" + s.Sandbox[0].Root + "\n"; err != nil || exit.Code != 7 || exit.Killed != 1 || out.String() != want {
		t.Errorf("%+v %v %q, want %q", exit, err, out.String(), want)
	}
	if b, err := os.ReadFile(filepath.Join(sandbox, "b.txt")); err != nil || string(b) != "made\n" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := cage.Run(t.Context(), command(nil, "no-such-program")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a missing program: %v", err)
	}
	exit, err = cage.Run(t.Context(), command(nil, "sh", "-c", "kill -KILL $$"))
	if err != nil || exit.Code != 137 || exit.Signal != "SIGKILL" {
		t.Errorf("%+v %v", exit, err)
	}

	out.Reset()
	tty := command(nil, "sh", "-c", "test -t 0 && stty size")
	tty.TTY, tty.Stdout = true, &out
	if exit, err := cage.Run(t.Context(), tty); err != nil || exit.Code != 0 || strings.TrimSpace(out.String()) != "24 80" {
		t.Errorf("a terminal: %+v %v %q", exit, err, out.String())
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	up, done := make(chan struct{}), make(chan error, 1)
	long := command(nil, "sh", "-c", "echo up; sleep 1000")
	long.Stdout = once(up)
	go func() {
		_, err := cage.Run(ctx, long)
		done <- err
	}()
	<-up
	live, err := c.Live(t.Context(), s.PlanDir)
	if err != nil || len(live) != 1 || live[0].Name != "test sh" || live[0].PID == 0 {
		t.Errorf("%+v %v", live, err)
	}
	if err := c.Close(t.Context(), s, false); !fault.Is(err, fault.Conflict) {
		t.Errorf("closing over a command: %v", err)
	}
	other := s
	other.Network = engine.NetworkHost
	if _, err := c.Open(t.Context(), other); !fault.Is(err, fault.Conflict) {
		t.Errorf("another spec over a command: %v", err)
	}
	cancel(errors.New("enough"))
	if err := <-done; err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("a cancelled command: %v", err)
	}
	if live, err := c.Live(t.Context(), s.PlanDir); err != nil || len(live) != 0 {
		t.Errorf("after the cancel: %+v %v", live, err)
	}

	proof, err := cage.Prove(t.Context())
	if err != nil || proof.Rung != c.Rung() || len(proof.NotCovered) == 0 {
		t.Errorf("%+v %v", proof, err)
	}
	for _, l := range proof.Lines {
		if !l.OK {
			t.Errorf("%+v", l)
		}
	}
	if err := errors.Join(cage.Release(), c.Close(t.Context(), s, false), c.Close(t.Context(), s, false)); err != nil {
		t.Error(err)
	}
}

// once closes a channel at the first write.
type once chan struct{}

func (o once) Write(p []byte) (int, error) {
	select {
	case <-o:
	default:
		close(o)
	}
	return len(p), nil
}
