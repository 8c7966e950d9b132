//go:build linux

package holder

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/engine"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// past is a deadline that ends every waiting read or write.
var past = time.Unix(1, 0)

// terminalSize returns the caller's terminal's size, 24 by 80 when unknown.
func terminalSize(t *os.File) (rows, cols uint16) {
	rows, cols = 24, 80
	withFd(t, func(fd int) {
		if ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err == nil && ws.Row > 0 && ws.Col > 0 {
			rows, cols = ws.Row, ws.Col
		}
	})
	return rows, cols
}

// withFd runs f with the file's descriptor, leaving its mode as it is.
func withFd(file *os.File, f func(fd int)) {
	if file == nil {
		return
	}
	if raw, err := file.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}

// raws are the terminals now in raw mode, for RestoreTerminals.
var raws struct {
	sync.Mutex
	state map[*os.File]*term.State
}

// RestoreTerminals puts every terminal that a running command holds in raw mode
// back as it was. Run does it itself on each of its ways out; it is for a
// program's last act before it ends in spite of a running command: a panic in
// another goroutine, a fatal signal.
func RestoreTerminals() {
	raws.Lock()
	defer raws.Unlock()
	for t, st := range raws.state {
		withFd(t, func(fd int) { _ = term.Restore(fd, st) })
	}
}

// makeRaw puts t into raw mode and remembers how it was.
func makeRaw(t *os.File) {
	raws.Lock()
	defer raws.Unlock()
	withFd(t, func(fd int) {
		st, err := term.MakeRaw(fd)
		if err != nil || raws.state[t] != nil {
			return // no terminal, or raw again after a stop: the first state counts
		}
		if raws.state == nil {
			raws.state = map[*os.File]*term.State{}
		}
		raws.state[t] = st
	})
}

// restore puts t back.
func restore(t *os.File) {
	raws.Lock()
	defer raws.Unlock()
	if st := raws.state[t]; st != nil {
		withFd(t, func(fd int) { _ = term.Restore(fd, st) })
		delete(raws.state, t)
	}
}

// screen joins the caller's terminal to the command's.
type screen struct {
	cmd     engine.Command
	control *Conn
	master  *os.File
	in      *feed
	out     *sink
	signals chan os.Signal
	done    chan struct{}
}

func newScreen(cmd engine.Command, master *os.File, control *Conn) *screen {
	// Through the poller, so that reads can be ended.
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		_ = unix.SetNonblock(fd, true)
		master.Close()
		master = os.NewFile(uintptr(fd), "terminal")
	}
	var to engine.Writer = io.Discard
	switch {
	case cmd.Terminal != nil && cmd.Stdout != nil:
		to = io.MultiWriter(cmd.Terminal, cmd.Stdout)
	case cmd.Terminal != nil:
		to = cmd.Terminal
	case cmd.Stdout != nil:
		to = cmd.Stdout
	}
	s := &screen{
		cmd: cmd, control: control, master: master, out: newSink(master, to),
		signals: make(chan os.Signal, 16), done: make(chan struct{}),
	}
	from := cmd.Terminal
	if from == nil {
		from = cmd.Stdin
	}
	if from != nil {
		s.in = newFeed(from, master)
		s.in.keep = true
	}
	return s
}

func (s *screen) start() {
	if s.cmd.Terminal != nil {
		makeRaw(s.cmd.Terminal)
		signal.Notify(s.signals, append(forwarded, syscall.SIGWINCH)...)
		s.resize() // it may have changed since the size was asked
	}
	s.out.start()
	if s.in != nil {
		s.in.start()
	}
	go func() {
		defer close(s.done)
		for sig := range s.signals {
			switch sig {
			case syscall.SIGWINCH:
				s.resize()
			case syscall.SIGCONT:
				makeRaw(s.cmd.Terminal) // the shell changed it while we were stopped
				s.resize()
			default:
				if sg, ok := sig.(syscall.Signal); ok {
					_ = s.control.Send(word{Word: "signal", Signal: int(sg)})
				}
			}
		}
	}()
}

// resize tells the entry the terminal's present size.
func (s *screen) resize() {
	rows, cols := terminalSize(s.cmd.Terminal)
	_ = s.control.Send(word{Word: "resize", Rows: rows, Cols: cols})
}

// stop delivers the last output and gives the terminal back.
func (s *screen) stop() {
	signal.Stop(s.signals)
	close(s.signals)
	<-s.done
	if s.in != nil {
		s.in.stop()
	}
	s.out.stop()
	restore(s.cmd.Terminal)
}
