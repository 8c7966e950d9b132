//go:build linux

package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long a script waits for something that has to happen.
const patience = 2 * time.Minute

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		Setup:               setup,
		Condition:           condition,
		Cmds:                commands(),
		RequireExplicitExec: false,
		RequireUniqueNames:  true,
	})
}

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"pty":      ptyCommand,
		"capture":  capture,
		"json":     jsonCommand,
		"wait-for": waitFor,
		"screen":   screenCommand,
	}
}

// setup gives a script its own home, state folder and identity, and ends what it
// leaves behind: the holder of a live plan outlives the command that made it.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	config := "[user]\n\tname = Script\n\temail = script@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		return err
	}
	state := filepath.Join(env.WorkDir, "state")
	env.Setenv("HOME", home)
	env.Setenv("AMBIT_HOME", state)
	env.Setenv("TERM", "xterm")
	env.Setenv("LANG", "C.UTF-8")
	env.Setenv("SHELL", "/bin/sh")
	env.Setenv("PS1", "inside$ ")
	env.Setenv("GORACE", os.Getenv("GORACE")) // of this test binary, which is ambit, too
	env.Defer(func() { discardAll(env) })
	return nil
}

func discardAll(env *testscript.Env) {
	ambit := func(args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		bin, err := exec.LookPath("ambit")
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, bin, args...)
		cmd.Env, cmd.Dir = env.Vars, env.WorkDir
		return cmd.Output()
	}
	out, err := ambit("ps", "--json")
	if err != nil {
		return // no state, or a script that broke it on purpose
	}
	var v struct{ Plans []struct{ ID string } }
	if json.Unmarshal(out, &v) != nil {
		return
	}
	for _, p := range v.Plans {
		_, _ = ambit("discard", "--yes", "--json", p.ID)
	}
}

func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "mount":
		cmd := exec.Command("unshare", "-m", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/mnt")
		return os.Geteuid() == 0 && cmd.Run() == nil, nil
	case "user":
		return os.Geteuid() != 0, nil
	case "native":
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
		return cmd.Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// lastOutput is what the last command printed.
func lastOutput(ts *testscript.TestScript) string {
	return ts.ReadFile("stdout") + ts.ReadFile("stderr")
}

// capture VAR REGEXP
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture VAR REGEXP")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(lastOutput(ts))
	if len(m) < 2 {
		ts.Fatalf("no match for %s in:\n%s", args[1], lastOutput(ts))
	}
	ts.Setenv(args[0], m[1])
}

// json PATH VALUE: PATH is names and indexes joined by dots; VALUE is compared
// as text. With ! the value must differ.
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json PATH VALUE")
	}
	text := ts.ReadFile("stdout")
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		ts.Fatalf("stdout is no JSON: %v\n%s", err, text)
	}
	if _, err := dec.Token(); err != io.EOF {
		ts.Fatalf("stdout holds more than one JSON value:\n%s", text)
	}
	if _, ok := v.(map[string]any); !ok {
		ts.Fatalf("stdout is JSON, but no object:\n%s", text)
	}
	for part := range strings.SplitSeq(args[0], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i := -1
			if _, err := fmt.Sscanf(part, "%d", &i); part == "len" {
				v = len(x)
			} else if err != nil || i < 0 || i >= len(x) {
				ts.Fatalf("no element %s in %s", part, args[0])
			} else {
				v = x[i]
			}
		default:
			ts.Fatalf("nothing at %s in:\n%s", args[0], text)
		}
	}
	if got := fmt.Sprint(v); (got == args[1]) == neg {
		ts.Fatalf("%s is %q, want %q in:\n%s", args[0], got, args[1], text)
	}
}

// wait-for REGEXP CMD…
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: wait-for REGEXP CMD…")
	}
	want := regexp.MustCompile(args[0])
	end := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_ = ts.Exec(args[1], args[2:]...)
		if want.MatchString(lastOutput(ts)) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s did not come in %s; last:\n%s", args[0], patience, lastOutput(ts))
		}
		<-tick.C
	}
}
