//go:build linux

package native

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/ambit-run/ambit/engine"
)

// trueCommand is the cheapest command there is.
func trueCommand(s *stage) engine.Command {
	return engine.Command{Name: "bench", Argv: []string{"/bin/true"}, Dir: "/", Env: s.env()}
}

// BenchmarkEnter is the entry into a live holder.
func BenchmarkEnter(b *testing.B) {
	s := newStage(b).open()
	for b.Loop() {
		if exit, err := s.cage.Run(b.Context(), trueCommand(s)); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}

// BenchmarkCold is a holder's whole life: open, one command, close.
func BenchmarkCold(b *testing.B) {
	s := newStage(b)
	for b.Loop() {
		cage, err := s.c.Open(b.Context(), s.spec)
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := cage.Run(b.Context(), trueCommand(s)); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
		if err := s.c.Close(context.Background(), s.spec, false); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBubblewrap is what a user would use instead, without overlay,
// Landlock, system call filter and a way to enter twice.
func BenchmarkBubblewrap(b *testing.B) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		b.Skip("bubblewrap is not installed")
	}
	for b.Loop() {
		c := exec.Command(bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/",
			"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--cap-drop", "ALL", "/bin/true")
		c.Stderr = os.Stderr
		if err := c.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSelf is the start of this binary, of which an entry has one and a
// cold start three.
func BenchmarkSelf(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/proc/self/exe", "ambit-entry").Run(); err == nil {
			b.Fatal("an entry process without arguments must fail")
		}
	}
}

// BenchmarkTrue is the command alone.
func BenchmarkTrue(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
