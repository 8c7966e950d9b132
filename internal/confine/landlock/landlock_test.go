//go:build linux

package landlock

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/probe"
	"github.com/ambit-run/ambit/internal/confine/view"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if handled, code := holder.ReexecAlone(os.Args, ArgGuard, Stages()); handled {
		os.Exit(code)
	}
	if handled, code := probe.Reexec(os.Args); handled {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

type stage struct {
	t    testing.TB
	c    *Confiner
	spec engine.CageSpec
	real string
	copy string
	cage engine.Cage
}

func write(t testing.TB, mode os.FileMode, text string, parts ...string) string {
	t.Helper()
	p := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return p
}

func newStage(t testing.TB) *stage {
	t.Helper()
	base := t.TempDir()
	s := &stage{t: t, c: New(view.OS{}, rand.Text), real: filepath.Join(base, "tree")}
	plan := filepath.Join(base, "state/plans/p")
	s.copy = filepath.Join(plan, "sandboxes/s1/tree")
	home := filepath.Join(base, "home/u")
	for _, d := range []string{s.real, s.copy, home} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, 0o644, "real\n", s.real, "a.txt")
	write(t, 0o644, "real\n", s.copy, "a.txt")
	s.spec = engine.CageSpec{
		Plan: "p", PlanDir: plan, StateDir: filepath.Join(base, "state"), Home: engine.HomeTools, HomeDir: home,
		Path: os.Getenv("PATH"), Network: engine.NetworkNone, Idle: time.Minute,
		Sandbox: []engine.Entrance{{Root: s.copy, Path: s.copy}},
	}
	return s
}

func (s *stage) open() *stage {
	s.t.Helper()
	p, err := s.c.Probe(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if !p.OK {
		s.t.Skip("no Landlock: " + p.Reason)
	}
	s.cage, err = s.c.Open(s.t.Context(), s.spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s *stage) sh(script string) (string, engine.Exit) {
	s.t.Helper()
	var out bytes.Buffer
	exit, err := s.cage.Run(s.t.Context(), engine.Command{
		Name: "test", Argv: []string{"/bin/sh", "-c", script}, Dir: s.copy,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.spec.HomeDir, "LANG=C.UTF-8"}, Stdout: &out, Stderr: &out,
	})
	if err != nil {
		s.t.Fatalf("run %q: %v", script, err)
	}
	return out.String(), exit
}

// TestReach tries what must fail and what must work.
func TestReach(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := s.spec.HomeDir
	write(t, 0o600, "CANARY", h, ".ssh/id")
	write(t, 0o600, "CANARY", h, "diary")
	write(t, 0o600, "CANARY", s.spec.StateDir, "ambit.db")
	write(t, 0o755, "#!/bin/sh\necho fake node\n", h, ".nvm/versions/node/v99/bin/node")
	write(t, 0o644, "[user]\nname = P\nemail = p@x\n", h, ".gitconfig")
	s.spec.Path = h + "/.nvm/versions/node/v99/bin:" + os.Getenv("PATH")
	s.open()
	for script, works := range map[string]bool{
		"cat a.txt && echo x > b.txt && mkdir d && mv b.txt d/ && test -f d/b.txt": true,
		"echo x > ~/f && cat ~/f && test -w $TMPDIR && mktemp":                     true,
		"cat /etc/passwd > /dev/null && ls /usr/bin > /dev/null":                   true,
		h + "/.nvm/versions/node/v99/bin/node":                                     true,
		"~/.nvm/versions/node/v99/bin/node":                                        true,
		"(sleep 0.01; echo x) | cat":                                               true,
		"cat " + h + "/.ssh/id":                                                    false,
		"cat " + h + "/diary":                                                      false,
		"ls " + h:                                                                  false,
		"cat " + s.spec.StateDir + "/ambit.db":                                     false,
		"echo x > " + s.real + "/a.txt":                                            false,
		"echo x >> " + s.real + "/a.txt":                                           false,
		"rm -f " + s.real + "/a.txt; ! test -f " + s.real + "/a.txt":               false,
		"echo x > /tmp/outside-$$":                                                 false,
		"echo x > /dev/shm/outside-$$":                                             false,
		"ln " + s.real + "/a.txt linked":                                           false,
	} {
		if out, exit := s.sh(script); (exit.Code == 0) != works {
			t.Errorf("%s: exit %+v, output %q; should work: %v", script, exit, out, works)
		}
	}
	if b, err := os.ReadFile(filepath.Join(s.real, "a.txt")); err != nil || string(b) != "real\n" {
		t.Errorf("the real file holds %q, %v", b, err)
	}
	if _, err := exec.LookPath("git"); err == nil {
		if out, exit := s.sh("git init -q . && git add -A && git commit -qm x && git log --format=%an"); exit.Code != 0 || !strings.Contains(out, "P\n") {
			t.Errorf("git: %+v %q", exit, out)
		}
	}
	if _, err := exec.LookPath("python3"); err == nil {
		py := "/usr/bin/python3 -c '" + `
import socket, sys
for f, k in ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET6, socket.SOCK_STREAM), (socket.AF_NETLINK, socket.SOCK_RAW)):
    try: socket.socket(f, k); print("made", f, k)
    except PermissionError: pass
a, b = socket.socketpair(); a.send(b"hi"); print(b.recv(2).decode())` + "'"
		if out, _ := s.sh(py); out != "hi\n" {
			t.Errorf("sockets: %q", out)
		}
	}
}

// TestTreeEnds leaves processes behind in every way there is.
func TestTreeEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	out, exit := s.sh("sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 0.1; echo done; exit 3")
	if out != "done\n" || exit.Code != 3 || exit.Killed < 4 {
		t.Errorf("%q %+v", out, exit)
	}
	s.sh("echo x > $TMPDIR/left")
	if err := s.c.Close(t.Context(), s.spec, false); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.spec.PlanDir, "tmp")); err == nil {
		t.Error("temporary files outlive the confinement")
	}
	live, err := s.c.Live(t.Context(), s.spec.PlanDir)
	if err != nil || len(live) != 0 {
		t.Errorf("live: %v %v", live, err)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	var out bytes.Buffer
	exit, err := s.cage.Run(t.Context(), engine.Command{
		Name: "tty", Argv: []string{"/bin/sh", "-c", "test -t 0 && stty size && echo x > /dev/tty"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, TTY: true, Stdout: &out,
	})
	if got := strings.ReplaceAll(out.String(), "\r", ""); err != nil || exit.Code != 0 || got != "24 80\nx\n" {
		t.Fatal(exit, err, got)
	}
}

func TestProofHolds(t *testing.T) {
	t.Parallel()
	for _, network := range []engine.Network{engine.NetworkNone, engine.NetworkHost} {
		for _, home := range []engine.HomeMode{engine.HomeTools, engine.HomeHidden, engine.HomeRO} {
			t.Run(string(home)+" "+string(network), func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				s.spec.Home, s.spec.Network, s.spec.Real = home, network, []string{s.real}
				write(t, 0o600, "key", s.spec.HomeDir, ".ssh/id")
				write(t, 0o600, "x", s.spec.HomeDir, "notes")
				s.open()
				proof, err := s.cage.Prove(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range proof.Lines {
					if !l.OK {
						t.Errorf("%+v", l)
					}
				}
				if len(proof.NotCovered) == 0 {
					t.Error("nothing is named as not covered")
				}
			})
		}
	}
}
