//go:build linux

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// person is somebody at a terminal: master is their keyboard and screen, tty the
// terminal that the program under test is given.
type person struct {
	t           *testing.T
	master, tty *os.File
	mu          sync.Mutex
	seen        bytes.Buffer
}

func newPerson(t *testing.T) *person {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skip("no terminals here: " + err.Error())
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, master: os.NewFile(uintptr(fd), "master"), tty: tty}
	p.size(30, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := p.master.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		p.tty.Close()
		p.master.Close()
		<-done
	})
	return p
}

func (p *person) size(rows, cols uint16) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) types(s string) {
	p.t.Helper()
	if _, err := p.master.WriteString(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// sees waits until the screen shows the text.
func (p *person) sees(s string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("waiting for %q", s), func() string {
		if scr := p.screen(); !strings.Contains(scr, s) {
			return fmt.Sprintf("the screen shows %q", scr)
		}
		return ""
	})
}

// state is the terminal's mode.
func (p *person) state() term.State {
	p.t.Helper()
	st, err := term.GetState(int(p.tty.Fd()))
	if err != nil {
		p.t.Fatal(err)
	}
	return *st
}

// at runs a command with the person's terminal.
func (s *stage) at(ctx context.Context, p *person, script string) chan result {
	c := make(chan result, 1)
	go func() {
		exit, err := s.cage.Run(ctx, engine.Command{
			Name: "tty", Argv: []string{"/bin/sh", "-c", script}, Dir: "/", Env: s.env(), TTY: true, Terminal: p.tty,
		})
		c <- result{exit, err}
	}()
	return c
}

type result struct {
	exit engine.Exit
	err  error
}

// TestTerminalOfOnesOwn goes through what a person does at a terminal.
func TestTerminalOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	p := newPerson(t)
	before := p.state()
	done := s.at(t.Context(), p, `
trap 'echo interrupted' INT
trap 'stty size' WINCH
tty; stty size; test -t 1 && echo on-a-tty; ls /dev/pts
while read line; do echo "got $line"; test "$line" = end && exit 5; done
while :; do read line && echo "got $line" && test "$line" = end && exit 5; done`)
	p.sees("/dev/pts/0\r\n30 100\r\non-a-tty\r\n0  ptmx\r\n")
	if p.state() == before {
		t.Error("the terminal is not in raw mode while the command runs")
	}
	p.types("hello\n")
	p.sees("got hello")
	p.size(50, 120)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil { // the kernel tells only the terminal's own session
		t.Fatal(err)
	}
	p.sees("50 120")
	p.types("\x03")
	p.sees("interrupted")
	p.types("end\n")
	if r := <-done; r.err != nil || r.exit.Code != 5 {
		t.Errorf("%+v\n%s", r, p.screen())
	}
	if p.state() != before {
		t.Error("the terminal was not put back")
	}
}

// TestTerminalIsRestored comes back from every way a command can end.
func TestTerminalIsRestored(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.spec.Plan = fmt.Sprintf("restore-%d", os.Getpid())
	s.open()
	p := newPerson(t)
	before := p.state()
	check := func(how string) {
		t.Helper()
		if p.state() != before {
			t.Errorf("after %s the terminal was not put back", how)
		}
	}
	r := <-s.at(t.Context(), p, "kill -9 $$")
	if r.exit.Signal != "SIGKILL" || r.exit.Code != 137 {
		t.Errorf("%+v", r)
	}
	check("a kill inside")

	exit, err := s.cage.Run(t.Context(), engine.Command{Name: "no", Argv: []string{"no-such-program"}, Dir: "/", Env: s.env(), TTY: true, Terminal: p.tty})
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("%+v %v", exit, err)
	}
	check("a command that is not there")

	ctx, cancel := context.WithCancelCause(t.Context())
	done := s.at(ctx, p, "echo up1; sleep 1000")
	p.sees("up1")
	cancel(errors.New("enough"))
	if r := <-done; r.err == nil {
		t.Errorf("%+v", r)
	}
	check("a cancel")

	done = s.at(t.Context(), p, "echo up2; sleep 1000")
	p.sees("up2")
	holder.RestoreTerminals() // a program's last act in a panic
	check("RestoreTerminals")
	kill9(planProcess(s.spec.Plan, "ambit-holder"))
	if r := <-done; !fault.Is(r.err, fault.Unavailable) {
		t.Errorf("%+v", r)
	}
	check("the holder's death")
}

// TestTerminalAfterSignals ends a whole caller, which has its terminal as a
// person's shell gives it, by signals.
func TestTerminalAfterSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.spec.Plan = fmt.Sprintf("signal-%d-%d", sig, os.Getpid())
			s.open()
			p := newPerson(t)
			before := p.state()
			var out transcript
			c := startCaller(t, callerJob{Spec: s.spec, Cmd: engine.Command{
				Name: "tty", Argv: []string{"/bin/sh", "-c", "echo up; exec sleep 1000"}, Dir: "/", Env: s.env(), TTY: true, // exec: dash loses an interrupt while it forks
			}}, &out, p.tty)
			p.sees("up")
			if p.state() == before {
				t.Error("the terminal is not in raw mode while the command runs")
			}
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			err := c.Wait()
			var ee *exec.ExitError
			if !errors.As(err, &ee) || ee.ExitCode() != 128+int(sig) {
				t.Errorf("the caller ended with %v: the signal was not handed on\n%s", err, out.String())
			}
			if p.state() != before {
				t.Error("the terminal was not put back")
			}
		})
	}
}

// TestTIOCSTI pushes characters at the caller's terminal from inside.
func TestTIOCSTI(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	s := newStage(t).open()
	p := newPerson(t)
	done := s.at(t.Context(), p, `/usr/bin/python3 -c '
import fcntl, os, sys
for path in ["/dev/tty", "/dev/pts/0", "/proc/self/fd/0"] + ["/dev/pts/%d" % n for n in range(1, 64)]:
    try: fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    except OSError as e: continue
    for req in (0x5412, 0x541c, 0x5412 | 1 << 32):
        try: fcntl.ioctl(fd, req, b"X"); print("PUSHED", path)
        except (OSError, OverflowError) as e: pass
print("tried")'`)
	if r := <-done; r.err != nil || r.exit.Code != 0 {
		t.Errorf("%+v", r)
	}
	p.sees("tried")
	if scr := p.screen(); strings.Contains(scr, "PUSHED") || strings.Contains(scr, "X") {
		t.Errorf("the screen shows %q", scr)
	}
	// What was pushed would wait in the caller's terminal's input.
	if n, err := unix.IoctlGetInt(int(p.tty.Fd()), unix.TIOCINQ); err != nil || n != 0 {
		t.Errorf("%d characters wait in the caller's terminal, %v", n, err)
	}
}
