//go:build linux

package native

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/holder"
)

// TestOneHolderForAll opens one plan from many places at once: one holder, one
// mount of each upper layer.
func TestOneHolderForAll(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.spec.Plan = fmt.Sprintf("many-%d", rand.Int64())
	var wg sync.WaitGroup
	var callers []*transcript
	for i := range 4 {
		var out transcript
		callers = append(callers, &out)
		c := startCaller(t, callerJob{Spec: s.spec, Cmd: engine.Command{
			Name: "x", Dir: s.real, Env: s.env(), Argv: []string{"/bin/sh", "-c", fmt.Sprintf("echo x > by-%d; cat a.txt", i)},
		}}, &out)
		wg.Go(func() { _ = c.Wait() })
	}
	for range 4 {
		wg.Go(func() {
			cage, err := s.c.Open(t.Context(), s.spec)
			if err != nil {
				t.Error(err)
				return
			}
			if exit, err := cage.Run(t.Context(), trueCommand(s)); err != nil || exit.Code != 0 {
				t.Errorf("%+v %v", exit, err)
			}
		})
	}
	wg.Wait()
	s.open()
	for i, out := range callers {
		if out.String() != "real\n" {
			t.Errorf("caller %d: %q", i, out)
		}
	}
	outers := 0
	for _, cmd := range planProcesses(s.spec.Plan) {
		if strings.Contains(cmd, holder.ArgOuter) {
			outers++
		}
	}
	if outers != 1 {
		t.Errorf("%d holders: %v", outers, planProcesses(s.spec.Plan))
	}
	if out, _ := s.sh("echo by-*"); out != "by-0 by-1 by-2 by-3\n" {
		t.Errorf("the sandbox holds %q", out)
	}
}

// TestAnotherSpec replaces a holder of another spec only when nothing runs in it.
func TestAnotherSpec(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	running := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.cage.Run(ctx, engine.Command{Name: "step one", Argv: []string{"/bin/sh", "-c", "echo x; sleep 1000"}, Dir: "/", Env: s.env(), Stdout: signalWriter{running}})
	}()
	<-running
	other := s.spec
	other.Network = engine.NetworkHost
	_, err := s.c.Open(t.Context(), other)
	if f := fault.As(err); !fault.Is(err, fault.Conflict) || len(f.Paths) != 1 || f.Paths[0] != "step one" {
		t.Errorf("opening over a running command: %+v", err)
	}
	if err := s.c.Close(t.Context(), s.spec, false); !fault.Is(err, fault.Conflict) {
		t.Errorf("closing over a running command: %v", err)
	}
	live, err := s.c.Live(t.Context(), s.spec.PlanDir)
	if err != nil || len(live) != 1 || live[0].Name != "step one" || live[0].PID == 0 || time.Since(live[0].Since) > time.Minute {
		t.Errorf("live: %+v %v", live, err)
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", live[0].PID)); err != nil || !bytes.Contains(b, []byte(holder.ArgEntry)) {
		t.Errorf("pid %d is %q, %v", live[0].PID, b, err)
	}
	cancel()
	<-done
	cage, err := s.c.Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := cage.Run(t.Context(), engine.Command{Argv: []string{"/bin/ls", "/sys/class/net"}, Dir: "/", Env: s.env(), Stdout: &out}); err != nil {
		t.Error(err)
	}
	if live, err := s.c.Live(t.Context(), s.spec.PlanDir); err != nil || len(live) != 0 {
		t.Errorf("live: %+v %v", live, err)
	}
}

// TestIdleHolderEnds leaves a holder alone, and finds it again before.
func TestIdleHolderEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.spec.Plan = fmt.Sprintf("idle-%d", rand.Int64())
	s.spec.Idle = 300 * time.Millisecond
	s.open()
	if _, exit := s.sh("sleep 0.6"); exit.Code != 0 { // longer than idle: a running command is no idling
		t.Errorf("%+v", exit)
	}
	eventually(t, "an idle holder", noProcesses(s.spec.Plan))
	if left, _ := filepath.Glob(filepath.Join(holder.Dir(s.spec.PlanDir), "[sl]*")); len(left) != 2 {
		t.Errorf("an ended holder left %v besides lock and log", left)
	}
	s.open()
	if out, _ := s.sh("cat a.txt"); out != "real\n" {
		t.Error(out)
	}
}

// TestEntriesAreApart runs two commands at once: one network, one /tmp, but
// neither sees or signals the other.
func TestEntriesAreApart(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	up := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.cage.Run(ctx, engine.Command{Name: "a", Argv: []string{"/bin/sh", "-c", "echo here > /tmp/shared; echo x; exec sleep 1000"}, Dir: "/", Env: s.env(), Stdout: signalWriter{up}})
	}()
	<-up
	out, exit := s.sh("cat /tmp/shared; ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/comm; kill -0 1 && echo own-keeper; kill -9 -1; echo alive")
	if exit.Code != 0 || !strings.HasPrefix(out, "here\n") || strings.Contains(out, "sleep") || !strings.HasSuffix(out, "alive\n") {
		t.Errorf("%q %+v", out, exit)
	}
	if live, err := s.c.Live(t.Context(), s.spec.PlanDir); err != nil || len(live) != 1 || live[0].Name != "a" {
		t.Errorf("after kill -9 -1 in another entry: %+v %v", live, err)
	}
	cancel()
	<-done
}

// TestStreams moves bytes in every direction.
func TestStreams(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	run := func(cmd engine.Command) (engine.Exit, error) {
		cmd.Dir, cmd.Env, cmd.Name = "/", s.env(), "streams"
		return s.cage.Run(t.Context(), cmd)
	}
	sh := func(script string) []string { return []string{"/bin/sh", "-c", script} }

	var out, errs bytes.Buffer
	if exit, err := run(engine.Command{Argv: sh("echo to-out; echo to-err >&2; cat"), Stdout: &out, Stderr: &errs}); err != nil || exit.Code != 0 {
		t.Error(exit, err)
	}
	if out.String() != "to-out\n" || errs.String() != "to-err\n" {
		t.Errorf("%q %q", out.String(), errs.String())
	}

	out.Reset()
	if _, err := run(engine.Command{Argv: sh("for i in 1 2 3; do echo o$i; echo e$i >&2; done"), Stdout: &out, Stderr: &out}); err != nil || out.String() != "o1\ne1\no2\ne2\no3\ne3\n" {
		t.Errorf("one writer for both: %q %v", out.String(), err)
	}

	in, err := os.Open(filepath.Join(s.real, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out.Reset()
	if _, err := run(engine.Command{Argv: sh("cat /dev/stdin; readlink /proc/self/fd/0"), Stdin: in, Stdout: &out}); err != nil || !strings.HasPrefix(out.String(), "real\npipe:") {
		t.Errorf("a host file as input: %q %v", out.String(), err)
	}

	// Input that goes on is no reason to stay.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if exit, err := run(engine.Command{Argv: sh("exit 4"), Stdin: r}); err != nil || exit.Code != 4 {
		t.Error(exit, err)
	}

	// A hundred megabytes pass through, no more than chunks at a time.
	var count counter
	if exit, err := run(engine.Command{Argv: sh("head -c 100000000 /dev/zero"), Stdout: &count}); err != nil || exit.Code != 0 || count.n != 100000000 {
		t.Error(exit, err, count)
	}
	if count.largest > 64<<10 {
		t.Errorf("a write of %d bytes", count.largest)
	}

	// A reader that leaves ends the command as in a pipeline.
	exit, err := run(engine.Command{Argv: []string{"yes"}, Stdout: broken{}})
	if err == nil || !strings.Contains(err.Error(), "no more") || exit.Signal != "SIGPIPE" {
		t.Errorf("%+v %v", exit, err)
	}
}

type counter struct{ n, largest int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	c.largest = max(c.largest, len(p))
	return len(p), nil
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("no more: %w", io.ErrClosedPipe) }

// TestExits reports how commands end, and those that do not begin.
func TestExits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	write(t, 0o755, "#!/no/such/interpreter\n", s.real, "script")
	write(t, 0o755, "no program\n", s.real, "text")
	s.open()
	for _, c := range []struct {
		argv   []string
		dir    string
		code   int
		signal string
		fault  fault.Code
		says   string
	}{
		{argv: []string{"true"}},
		{argv: []string{"sh", "-c", "exit 255"}, code: 255},
		{argv: []string{"sh", "-c", "kill -TERM $$"}, code: 143, signal: "SIGTERM"},
		{argv: []string{"sh", "-c", "kill -SEGV $$"}, code: 139, signal: "SIGSEGV"},
		{argv: []string{"no-such-program"}, fault: fault.NotFound, says: "no-such-program"},
		{argv: []string{"./a.txt"}, dir: s.real, fault: fault.Denied, says: "a.txt"},
		{argv: []string{"/etc"}, fault: fault.Denied},
		{argv: []string{"./script"}, dir: s.real, fault: fault.NotFound, says: "interpreter"},
		{argv: []string{"./text"}, dir: s.real, fault: fault.Invalid, says: "no program"},
		{argv: []string{"true"}, dir: "/nowhere", fault: fault.NotFound, says: "/nowhere"},
		{argv: []string{""}, fault: fault.Invalid},
		{argv: []string{"true", strings.Repeat("x", 3<<17)}, fault: fault.Invalid, says: "too long"},
	} {
		t.Run(strings.Join(c.argv, " ")[:min(20, len(strings.Join(c.argv, " ")))], func(t *testing.T) {
			dir := c.dir
			if dir == "" {
				dir = "/"
			}
			exit, err := s.cage.Run(t.Context(), engine.Command{Name: "x", Argv: c.argv, Dir: dir, Env: s.env()})
			if c.fault != "" {
				if !fault.Is(err, c.fault) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%+v %v", exit, err)
				}
				return
			}
			if err != nil || exit.Code != c.code || exit.Signal != c.signal {
				t.Errorf("%+v %v", exit, err)
			}
		})
	}
}

// TestLongPaths keeps a plan deeper than a unix socket's address is long.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	deep := filepath.Join(s.spec.StateDir, strings.Repeat("deep/", 30), "plan")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	s.spec.PlanDir = deep
	s.open()
	if out, _ := s.sh("cat a.txt"); out != "real\n" {
		t.Error(out)
	}
	for _, l := range s.prove().Lines {
		if !l.OK {
			t.Errorf("%+v", l)
		}
	}
}
