package boundary

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBwrapItself runs what BwrapArgv renders: what is declared writable is, and
// nothing else.
func TestBwrapItself(t *testing.T) {
	t.Parallel()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bubblewrap is not installed")
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, context.DeadlineExceeded)
	defer cancel()
	if out, err := exec.CommandContext(ctx, bwrap, "--unshare-all", "--ro-bind", "/", "/", "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("bubblewrap cannot make namespaces here: %v %s", err, out)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"work", "repo"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := `echo in > /workspace/a && echo in > /original/b && test "$AMBIT_TASK_ID" = t && test -z "$HOME" && echo x > /tmp/x || exit 1
for p in /repo/x /x /usr/x /etc/x ` + dir + `/x; do if (echo out > $p) 2>/dev/null; then echo "wrote $p"; exit 2; fi; done
test "$(ls /sys/class/net 2>/dev/null | grep -cv '^lo$')" = 0 && grep -q '^CapEff:.0*$' /proc/self/status && grep -q '^NoNewPrivs:.1$' /proc/self/status && pwd`
	s, err := New("t", dir+"/work", Options{Repo: dir + "/repo", Command: []string{"sh", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := BwrapArgv(s, Execution{User: "0:0", Original: "/original"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, bwrap, x.Argv[1:]...)
	cmd.Env = append(os.Environ(), "HOME=/leaked")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "/original\n" {
		t.Errorf("%v: %s", err, out)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(dir, "work", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestDockerReadsIt gives what is rendered to docker's own reader of options, with
// an engine that does not exist: the executed form is understood, and the declared
// one refused for its rw, as is said.
func TestDockerReadsIt(t *testing.T) {
	t.Parallel()
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("docker's command line is not installed")
	}
	ask := func(argv []string) string {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, context.DeadlineExceeded)
		defer cancel()
		cmd := exec.CommandContext(ctx, docker, append([]string{"--host", "unix://" + filepath.Join(t.TempDir(), "none.sock")}, argv[1:]...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("there is an engine: %s", out)
		}
		return string(out)
	}
	s := good(t)
	declared, err := DockerArgv(s, "")
	if err != nil {
		t.Fatal(err)
	}
	if out := ask(declared); !strings.Contains(out, "'rw'") && !strings.Contains(out, `"rw"`) && !strings.Contains(out, "field rw") {
		t.Errorf("the declared form: %s", out)
	}
	v := &Volume{Name: "ambit-t", Lower: []string{"/l"}, Upper: "/u", Work: "/w"}
	create, err := v.CreateArgv(s)
	if err != nil {
		t.Fatal(err)
	}
	lines := [][]string{create}
	for _, e := range []Execution{{User: "1000:1000"}, {User: "1:1", Rootless: true}, {User: "1:1", Volume: v, Original: "/home/me/api"}} {
		x, err := DockerRun(s, e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, x.Argv)
	}
	for _, argv := range lines {
		if out := strings.ToLower(ask(argv)); !strings.Contains(out, "connect") || !strings.Contains(out, "daemon") {
			t.Errorf("docker does not understand %q: %s", argv, out)
		}
	}
}
