//go:build linux

package holder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/fault"
	"golang.org/x/sys/unix"
)

// fdHand is the socket by which an entry process is handed its work; without a
// holder it is the socket to the client itself. The files of Inside follow.
const fdHand = 3

// forwarded are the signals that an entry process and a client hand on to the command.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT,
}

// notifyChild delivers SIGCHLD.
func notifyChild(c chan<- os.Signal) { signal.Notify(c, syscall.SIGCHLD) }

// entryArgs are the arguments of an entry process. The plan is there for people
// who look at the process table.
func entryArgs(in Inside, plan string) []string {
	return []string{argv0, ArgEntry, plan, strconv.Itoa(len(in.Files)), string(in.Note)}
}

// EntryMain is the entry process: it prepares, seals, forks the command, reaps,
// and ends when the command or the client does. Started by an inner process it is
// pid 1 of its own pid namespace; otherwise (alone) it keeps hold of the command's
// descendants as their subreaper. It returns the exit code.
func EntryMain(st Stages, files, note string, alone bool) int {
	if err := closeOnExec(3); err != nil {
		fmt.Fprintln(os.Stderr, "ambit:", err)
		return 1
	}
	runtime.LockOSThread()
	hand, err := connFromFile(os.NewFile(fdHand, "hand"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "ambit:", err)
		return 1
	}
	e := &entry{st: st, inside: Inside{Note: json.RawMessage(note)}, nest: namespaceNest{}}
	if alone {
		e.nest = subreaperNest{}
	}
	n, err := strconv.Atoi(files)
	if err != nil || n < 0 || n > maxFiles {
		fmt.Fprintln(os.Stderr, "ambit: malformed arguments of an entry process")
		return 2
	}
	for i := range n {
		e.inside.Files = append(e.inside.Files, os.NewFile(uintptr(fdHand+1+i), "inside"))
	}
	// What can be done before the work is known. Whoever gets the work is told what
	// went wrong with it.
	prepared := e.prepare()
	if e.control = hand; !alone {
		if e.control, err = receiveWork(hand); err != nil {
			return 0 // the holder is ending
		}
	}
	if prepared != nil {
		_ = e.control.Send(word{Word: "refused", Failure: failureOf(prepared)})
		return 0
	}
	if err := e.run(); err != nil {
		_ = e.control.Send(word{Word: "refused", Failure: failureOf(err)})
	}
	return 0
}

// receiveWork waits for a handover and puts its streams in the place of the
// standard ones.
func receiveWork(hand *Conn) (*Conn, error) {
	defer hand.Close()
	var h handover
	files, err := hand.Recv(&h)
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	if len(files) != 1+len(h.Streams) {
		return nil, errFrame
	}
	for i, s := range h.Streams {
		fd := strings.IndexRune("ioe", s)
		if fd < 0 {
			return nil, errFrame
		}
		if err := unix.Dup3(int(files[1+i].Fd()), fd, 0); err != nil {
			return nil, err
		}
	}
	return connFromFile(files[0])
}

// prepare does what needs no job.
func (e *entry) prepare() error {
	// No command may read our environment or descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fault.Wrap(fault.Internal, "enter", fmt.Errorf("hide process: %w", err))
	}
	if err := e.nest.build(); err != nil {
		return fault.Wrap(fault.Internal, "enter", err)
	}
	return e.st.Prepare(e.inside)
}

// entry is the state of an entry process.
type entry struct {
	st      Stages
	control *Conn
	inside  Inside
	nest    nest
	job     Job
	pid     int // of the command
	master  *os.File
	ending  atomic.Bool // the entry was told to end: the command's death is no exit of its own
}

// run does the entry's whole work. An error means that the command did not start.
func (e *entry) run() error {
	received, err := e.control.Recv(&e.job)
	closeAll(received)
	if err != nil {
		return fault.Wrap(fault.Internal, "enter", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fault.Wrap(fault.Internal, "enter", err)
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	if e.job.TTY {
		slave, err := e.openTerminal()
		if err != nil {
			return err
		}
		files = []*os.File{slave, slave, slave}
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fault.Wrap(fault.Internal, "enter", fmt.Errorf("switch core dumps off: %w", err))
	}
	if err := enterDir(e.job.Dir); err != nil {
		return err
	}
	if err := e.st.Seal(e.inside, e.job); err != nil {
		return err
	}
	closeAll(e.inside.Files)
	path, err := lookCommand(e.job.Argv, e.job.Env)
	if err != nil {
		return err
	}
	// Caught signals are default again in the command, whatever our own caller ignored.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	start := time.Now()
	e.pid, err = forkCommand(path, e.job, files)
	if err != nil {
		return commandError(e.job.Argv[0], err)
	}
	// Readers of the command's streams wait for the last writer: that must not be us.
	for fd := range 3 {
		_ = unix.Dup3(int(null.Fd()), fd, 0)
	}
	if e.job.TTY {
		closeAll(files[:1])
	}
	_ = e.control.Send(word{Word: "started"})
	go e.listen()
	go e.heed(signals)
	ws := e.await()
	if e.ending.Load() {
		select {} // whoever was told to end it exits
	}
	w := word{Word: "ended", Duration: time.Since(start)}
	w.Killed = e.nest.clear()
	if ws.Signaled() {
		w.Signal, w.Code = int(ws.Signal()), 128+int(ws.Signal())
	} else {
		w.Code = ws.ExitStatus()
	}
	_ = e.control.Send(w)
	return nil
}

// await reaps until the command has ended.
func (e *entry) await() syscall.WaitStatus {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if err == nil && pid == e.pid {
			return ws
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return ws // no child is left; cannot be before the command was reaped
		}
	}
}

// heed handles signals that the entry process itself gets: from outside, since
// no command can name it.
func (e *entry) heed(signals <-chan os.Signal) {
	for s := range signals {
		if s == syscall.SIGTERM && e.nest.ends() {
			e.ending.Store(true)
			e.nest.clear()
			os.Exit(0)
		}
		if s, ok := s.(syscall.Signal); ok {
			e.forward(s)
		}
	}
}

// listen does what the client says. When the client is gone the entry ends at
// once, and everything in its nest with it.
func (e *entry) listen() {
	for {
		var w word
		files, err := e.control.Recv(&w)
		closeAll(files)
		if err != nil {
			e.ending.Store(true)
			e.nest.clear()
			os.Exit(0)
		}
		switch w.Word {
		case "resize":
			if e.master != nil {
				_ = unix.IoctlSetWinsize(int(e.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: w.Rows, Col: w.Cols})
			}
		case "signal":
			e.forward(syscall.Signal(w.Signal))
		}
	}
}

// forward signals the terminal's foreground job, else the command's process group.
func (e *entry) forward(s syscall.Signal) {
	if e.master != nil {
		if pgrp, err := unix.IoctlGetInt(int(e.master.Fd()), unix.TIOCGPGRP); err == nil && pgrp > 1 {
			_ = syscall.Kill(-pgrp, s)
			return
		}
	}
	_ = syscall.Kill(-e.pid, s)
}
