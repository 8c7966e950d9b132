//go:build linux

package native

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/view"
	"golang.org/x/sys/unix"
)

// argCaller starts the test binary as a program of its own that runs one command
// in a plan, as the command line does: so it can be killed.
const argCaller = "test-caller"

// callerJob is what the caller is told on its standard input, one line.
type callerJob struct {
	Spec engine.CageSpec
	Cmd  engine.Command // Argv, Dir, Env, TTY
}

// callerMain is the caller. With TTY its descriptor 3 is the terminal.
func callerMain() int {
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	var j callerJob
	if err == nil {
		err = json.Unmarshal(line, &j)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	ctx := testContext{}
	cage, err := New(view.OS{}).Open(ctx, j.Spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	j.Cmd.Stdout, j.Cmd.Stderr = os.Stdout, os.Stderr
	if j.Cmd.TTY {
		j.Cmd.Terminal, j.Cmd.Stdout = os.NewFile(3, "terminal"), nil
	}
	exit, err := cage.Run(ctx, j.Cmd)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 97
	}
	return exit.Code
}

// testContext is a context that never ends.
type testContext struct{}

func (testContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (testContext) Done() <-chan struct{}       { return nil }
func (testContext) Err() error                  { return nil }
func (testContext) Value(any) any               { return nil }

// startCaller starts a caller with the job; extra files follow the standard ones.
// transcript is what a running process has printed so far.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *transcript) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *transcript) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

func startCaller(t testing.TB, j callerJob, out *transcript, extra ...*os.File) *exec.Cmd {
	t.Helper()
	raw, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/proc/self/exe", argCaller)
	c.Args[0] = os.Args[0]
	c.Stdin = bytes.NewReader(append(raw, '\n'))
	if out != nil {
		c.Stdout, c.Stderr = out, out
	}
	c.ExtraFiles = extra
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// planProcesses finds every living process of a plan: our own by their
// arguments, commands by the plan in their environment.
func planProcesses(plan string) map[int]string {
	found := map[int]string{}
	ds, _ := os.ReadDir("/proc")
	for _, d := range ds {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, _ := os.ReadFile("/proc/" + d.Name() + "/cmdline")
		environ, _ := os.ReadFile("/proc/" + d.Name() + "/environ")
		stat, _ := os.ReadFile("/proc/" + d.Name() + "/stat")
		if i := bytes.LastIndexByte(stat, ')'); i < 0 || len(stat) < i+3 || stat[i+2] == 'Z' || stat[i+2] == 'X' {
			continue
		}
		if strings.Contains(string(cmdline)+"\x00", "\x00"+plan+"\x00") || strings.Contains(string(environ), "="+plan+"\x00") {
			found[pid] = strings.ReplaceAll(string(cmdline), "\x00", " ")
		}
	}
	return found
}

// process returns the pid of the plan's process with the given first argument.
func planProcess(plan, arg string) int {
	for pid, cmdline := range planProcesses(plan) {
		if strings.Contains(cmdline, arg) {
			return pid
		}
	}
	return 0
}

// eventually polls until f returns "" or a generous deadline is over.
func eventually(t testing.TB, what string, f func() string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s := f()
		if s == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s", what, s)
		}
		<-tick.C
	}
}

func noProcesses(plan string) func() string {
	return func() string {
		if ps := planProcesses(plan); len(ps) > 0 {
			return fmt.Sprint(ps)
		}
		return ""
	}
}

// kill9 kills a process that may be gone already.
func kill9(pid int) {
	if pid > 0 {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}
