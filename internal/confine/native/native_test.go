//go:build linux

package native

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/probe"
	"github.com/ambit-run/ambit/internal/confine/view"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if handled, code := Reexec(os.Args); handled {
		os.Exit(code)
	}
	if handled, code := probe.Reexec(os.Args); handled {
		os.Exit(code)
	}
	if len(os.Args) == 2 && os.Args[1] == argCaller {
		os.Exit(callerMain())
	}
	if printCircumstances() {
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == argForbidden {
		os.Exit(forbiddenMain())
	}
	if len(os.Args) == 3 && os.Args[1] == argNested {
		os.Exit(nestedMain(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// stage is a plan with one overlay sandbox over a small tree.
type stage struct {
	t    testing.TB
	c    *Confiner
	spec engine.CageSpec
	real string // the real tree
	up   string // the sandbox's upper layer
	cage engine.Cage
}

// refused says why this machine lets nobody make a user namespace; nil if it
// does. It asks the kernel, not the code under test.
var refused = sync.OnceValue(func() error {
	c := exec.Command("/bin/true")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return c.Run()
})

func needNamespaces(t testing.TB) {
	t.Helper()
	if err := refused(); err != nil {
		t.Skipf("no user namespaces here: %v", err)
	}
}

// newStage makes the folders; the test may change spec before open.
func newStage(t testing.TB) *stage {
	t.Helper()
	needNamespaces(t)
	base := t.TempDir()
	t.Cleanup(func() { // an overlay's work folder has mode 0
		_ = filepath.WalkDir(base, func(p string, d os.DirEntry, err error) error {
			if d != nil && d.IsDir() && err == nil {
				_ = os.Chmod(p, 0o700)
			}
			return nil
		})
	})
	s := &stage{t: t, c: New(view.OS{}), real: filepath.Join(base, "tree"), up: filepath.Join(base, "state/plans/p/s1/upper")}
	plan := filepath.Join(base, "state/plans/p")
	work := filepath.Join(base, "state/plans/p/s1/work")
	home := filepath.Join(base, "home/u")
	for _, d := range []string{s.real, s.up, work, home} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.real, "a.txt"), []byte("real\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.spec = engine.CageSpec{
		Plan: "p", PlanDir: plan, StateDir: filepath.Join(base, "state"), Home: engine.HomeTools, HomeDir: home,
		Path: os.Getenv("PATH"), Network: engine.NetworkNone, Idle: time.Minute,
		Sandbox: []engine.Entrance{{Root: s.real, Mounts: []engine.Mount{{
			Kind: engine.MountOverlay, Target: s.real, Lower: []string{s.real}, Upper: s.up, Work: work,
		}}}},
	}
	return s
}

func (s *stage) open() *stage {
	s.t.Helper()
	cage, err := s.c.Open(s.t.Context(), s.spec)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cage = cage
	s.t.Cleanup(func() {
		if err := s.c.Close(context.Background(), s.spec, true); err != nil {
			s.t.Errorf("close: %v", err)
		}
	})
	return s
}

// sh runs a shell script inside and returns its output and exit.
func (s *stage) sh(script string) (string, engine.Exit) {
	s.t.Helper()
	var out bytes.Buffer
	exit, err := s.cage.Run(s.t.Context(), engine.Command{
		Name: "test", Argv: []string{"/bin/sh", "-c", script}, Dir: s.real, Env: s.env(), Stdout: &out, Stderr: &out,
	})
	if err != nil {
		s.t.Fatalf("run %q: %v", script, err)
	}
	return out.String(), exit
}

func (s *stage) env() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + s.spec.HomeDir, "TERM=xterm", "LANG=C.UTF-8"}
}

func TestOverlayRunClose(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	out, exit := s.sh("cat a.txt; echo changed > a.txt; echo new > b.txt; cat /workspace/a.txt; pwd; id -u; exit 7")
	if want := fmt.Sprintf("real\nchanged\n%s\n%d\n", s.real, os.Geteuid()); out != want || exit.Code != 7 {
		t.Errorf("got %q, exit %+v; want %q, 7", out, exit, want)
	}
	if b, _ := os.ReadFile(filepath.Join(s.real, "a.txt")); string(b) != "real\n" {
		t.Errorf("the real file now holds %q", b)
	}
	if b, _ := os.ReadFile(filepath.Join(s.up, "b.txt")); string(b) != "new\n" {
		t.Errorf("the upper layer holds %q", b)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	var out bytes.Buffer
	exit, err := s.cage.Run(t.Context(), engine.Command{
		Name: "tty", Argv: []string{"/bin/sh", "-c", "tty; stty size; test -t 0 && echo isatty"}, Dir: "/", Env: s.env(), TTY: true, Stdout: &out,
	})
	if err != nil || exit.Code != 0 {
		t.Fatal(exit, err, out.String())
	}
	if got := strings.ReplaceAll(out.String(), "\r", ""); got != "/dev/pts/0\n24 80\nisatty\n" {
		t.Errorf("got %q", got)
	}
}
