//go:build linux

package acceptance

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// ptyCommand runs a command in a terminal of its own and plays a script on it,
// as a person would: each line of the script is one of
//
//	expect TEXT      wait until TEXT appears after what was expected before
//	unseen TEXT      TEXT has not appeared so far
//	send "KEYS"      type; a Go string, so "\x03" is Ctrl-C and "\r" is Enter
//	resize 100x30    change the size of the window
//	run CMD…         run a command beside it
//
// The command must end by itself after the script; ! wants a failure. What
// appeared on the terminal is then the stdout of the script.
func ptyCommand(ts *testscript.TestScript, neg bool, args []string) {
	cols, rows := 80, 24
	if len(args) > 1 && args[0] == "-size" {
		if _, err := fmt.Sscanf(args[1], "%dx%d", &cols, &rows); err != nil {
			ts.Fatalf("size %q: %v", args[1], err)
		}
		args = args[2:]
	}
	if len(args) < 2 {
		ts.Fatalf("usage: pty [-size 80x24] SCRIPT CMD…")
	}
	script := ts.ReadFile(args[0])
	p, err := startPty(ts, cols, rows, args[1:])
	ts.Check(err)
	defer p.close()
	err = p.play(ts, script)
	var exit error
	if err == nil {
		exit, err = p.wait()
	}
	screen := p.text()
	_, _ = ts.Stdout().Write([]byte(screen))
	switch {
	case err != nil:
		ts.Fatalf("%v\non the terminal:\n%s", err, screen)
	case exit != nil && !neg:
		ts.Fatalf("%s: %v\non the terminal:\n%s", args[1], exit, screen)
	case exit == nil && neg:
		ts.Fatalf("%s: unexpected success\non the terminal:\n%s", args[1], screen)
	}
	var code *exec.ExitError
	if errors.As(exit, &code) {
		ts.Setenv("PTY_CODE", strconv.Itoa(code.ExitCode()))
	} else {
		ts.Setenv("PTY_CODE", "0")
	}
}

// errEnded is the end of a command that did well, but too early.
var errEnded = errors.New("exit status 0")

type pty struct {
	master *os.File
	cmd    *exec.Cmd
	exited chan error
	reader sync.WaitGroup

	mu   sync.Mutex
	seen strings.Builder
	more chan struct{} // closed and replaced when something appears
	at   int           // up to where expect has read
}

func startPty(ts *testscript.TestScript, cols, rows int, argv []string) (*pty, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)}); err != nil {
		return nil, err
	}
	bin, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	p := &pty{master: master, exited: make(chan error, 1), more: make(chan struct{})}
	p.cmd = exec.Command(bin, argv[1:]...)
	p.cmd.Args[0] = argv[0]
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = environment(ts)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.reader.Go(p.read)
	go func() { p.exited <- p.cmd.Wait() }()
	return p, nil
}

// environment is the script's environment, for a process that testscript does
// not start itself.
func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range []string{"HOME", "AMBIT_HOME", "TERM", "LANG", "SHELL", "PS1", "WORK", "PATH", "AMBIT_PAGER", "NO_COLOR", "XDG_CONFIG_HOME"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (p *pty) read() {
	buf := make([]byte, 4096)
	for {
		n, err := p.master.Read(buf)
		if n > 0 {
			p.mu.Lock()
			p.seen.Write(buf[:n])
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
		}
		if err != nil { // EIO: no process has the terminal open any more
			return
		}
	}
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// sequences are what colours and moves the cursor: expect looks at the text.
var sequences = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)")

func (p *pty) expect(text string) error {
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		p.mu.Lock()
		all, more := sequences.ReplaceAllString(p.seen.String(), ""), p.more
		p.mu.Unlock()
		if i := strings.Index(all[min(p.at, len(all)):], text); i >= 0 {
			p.at = min(p.at, len(all)) + i + len(text)
			return nil
		}
		select {
		case <-more:
		case err := <-p.exited:
			p.exited <- err
			p.reader.Wait() // what it wrote last may still be on its way
			if i := strings.Index(sequences.ReplaceAllString(p.text(), "")[min(p.at, len(all)):], text); i >= 0 {
				p.at = min(p.at, len(all)) + i + len(text)
				return nil
			}
			return fmt.Errorf("it ended before %q appeared: %w", text, cmp.Or(err, errEnded))
		case <-end.C:
			return fmt.Errorf("%q did not appear in %s", text, patience)
		}
	}
}

func (p *pty) play(ts *testscript.TestScript, script string) error {
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		verb, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		rest = strings.TrimSpace(rest)
		var err error
		switch verb {
		case "", "#":
		case "expect":
			err = p.expect(rest)
		case "unseen":
			if strings.Contains(sequences.ReplaceAllString(p.text(), ""), rest) {
				err = fmt.Errorf("%q appeared", rest)
			}
		case "send":
			var keys string
			if keys, err = strconv.Unquote(rest); err == nil {
				_, err = p.master.WriteString(keys)
			}
		case "resize":
			var w unix.Winsize
			if _, err = fmt.Sscanf(rest, "%dx%d", &w.Col, &w.Row); err == nil {
				err = unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &w)
			}
		case "run":
			argv := strings.Fields(os.Expand(rest, ts.Getenv))
			err = ts.Exec(argv[0], argv[1:]...)
		default:
			err = fmt.Errorf("unknown line %q in the terminal's script", lines.Text())
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", verb, rest, err)
		}
	}
	return lines.Err()
}

// wait returns how the command ended.
func (p *pty) wait() (exit, err error) {
	end := time.NewTimer(patience)
	defer end.Stop()
	select {
	case exit = <-p.exited:
		p.reader.Wait()
		return exit, nil
	case <-end.C:
		return nil, fmt.Errorf("it did not end in %s", patience)
	}
}

func (p *pty) close() {
	_ = p.cmd.Process.Kill() // no effect on one that has ended
	_ = p.master.Close()
	p.reader.Wait()
}
