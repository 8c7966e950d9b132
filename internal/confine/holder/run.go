//go:build linux

package holder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"golang.org/x/sys/unix"
)

// Tree is the process tree of one entry as the client sees it.
type Tree interface {
	// Kill asks that the whole tree be killed. Idempotent, does not wait.
	Kill()
	// Gone yields once, when nothing of the tree lives any more: nil, or why the
	// tree ended otherwise than by its command's end.
	Gone() <-chan error
}

// Launch starts an entry process. The descriptors of files are, in order: the
// control socket, then one for each letter of streams ("i", "o", "e"). They stay
// the caller's. An error means that nothing was started.
type Launch func(streams string, files []*os.File) (Tree, error)

// Run runs a command in an entry process that launch starts, relays its streams
// and returns when its whole tree is gone. When ctx ends, the tree is killed and
// the error carries ctx's cause; Exit then says how the command was killed.
func Run(ctx context.Context, cmd engine.Command, job Job, launch Launch) (engine.Exit, error) {
	if err := ctx.Err(); err != nil {
		return engine.Exit{}, fault.Wrap("", "run command", context.Cause(ctx))
	}
	begin := time.Now()
	control, far, err := pair()
	if err != nil {
		return engine.Exit{}, fault.Wrap(fault.Unavailable, "run command", err)
	}
	defer control.Close()
	s := &session{cmd: cmd, control: control, words: make(chan word, 8)}
	streams, theirs, err := s.open()
	if err != nil {
		far.Close()
		return engine.Exit{}, fault.Wrap(fault.Unavailable, "run command", err)
	}
	defer s.close()
	job.TTY = cmd.TTY
	if cmd.TTY {
		job.Rows, job.Cols = terminalSize(cmd.Terminal)
	}
	tree, err := launch(streams, append([]*os.File{far}, theirs...))
	far.Close()
	closeAll(theirs)
	if err != nil {
		return engine.Exit{}, err
	}
	s.begin(job)

	var exit engine.Exit
	var refused, died error
	var cause error
	done := ctx.Done()
	for alive := true; alive; {
		select {
		case died = <-tree.Gone():
			alive = false
		case <-done:
			cause = context.Cause(ctx)
			done = nil
			tree.Kill()
		}
	}
	// Every writer of the tree is gone, so all it said lies in the buffers.
	_ = control.sock.SetReadDeadline(time.Now().Add(time.Second))
	last := s.end()
	exit.Duration = time.Since(begin)
	switch {
	case last.Word == "refused":
		refused = last.Failure.Err()
	case last.Word == "ended":
		exit.Code, exit.Duration, exit.Killed = last.Code, last.Duration, last.Killed
		if last.Signal != 0 {
			exit.Signal = unix.SignalName(unix.Signal(last.Signal))
		}
	default:
		exit.Code, exit.Signal = 128+int(unix.SIGKILL), unix.SignalName(unix.SIGKILL)
	}
	switch {
	case cause != nil:
		return exit, fault.Wrap("", "run command", cause)
	case refused != nil:
		return engine.Exit{}, refused
	case last.Word == "":
		if died == nil {
			died = fmt.Errorf("the entry ended without a word")
		}
		return exit, fault.Wrap(fault.Unavailable, "run command", died)
	}
	return exit, s.writeErr()
}

// session is the client's side of one running entry.
type session struct {
	cmd     engine.Command
	control *Conn
	words   chan word // what the entry said; closed at its end

	in      *feed   // the command's stdin, or the terminal's input
	outs    []*sink // its outputs
	screen  *screen // the terminal, when there is one
	writing chan struct{}
}

// open makes the pipes and returns the far ends with their letters.
func (s *session) open() (string, []*os.File, error) {
	if s.cmd.TTY {
		return "", nil, nil
	}
	var streams string
	var theirs []*os.File
	fail := func(err error) (string, []*os.File, error) {
		closeAll(theirs)
		s.close()
		return "", nil, err
	}
	if s.cmd.Stdin != nil {
		r, w, err := streamPipe(1)
		if err != nil {
			return fail(err)
		}
		theirs, streams = append(theirs, r), streams+"i"
		s.in = newFeed(s.cmd.Stdin, w)
	}
	for _, o := range []struct {
		letter string
		to     engine.Writer
	}{{"o", s.cmd.Stdout}, {"e", s.cmd.Stderr}} {
		if o.to == nil {
			continue
		}
		if o.letter == "e" && len(s.outs) == 1 && same(s.cmd.Stdout, s.cmd.Stderr) {
			// One pipe for both keeps their order.
			dup, err := unix.FcntlInt(theirs[len(theirs)-1].Fd(), unix.F_DUPFD_CLOEXEC, 3)
			if err != nil {
				return fail(err)
			}
			theirs, streams = append(theirs, os.NewFile(uintptr(dup), "stream")), streams+"e"
			continue
		}
		r, w, err := streamPipe(0)
		if err != nil {
			return fail(err)
		}
		theirs, streams = append(theirs, w), streams+o.letter
		s.outs = append(s.outs, newSink(r, o.to))
	}
	return streams, theirs, nil
}

// begin sends the job and starts the relays.
func (s *session) begin(job Job) {
	s.writing = make(chan struct{})
	go func() {
		defer close(s.writing)
		_ = s.control.Send(job) // an entry that is gone already shows in its end
	}()
	if s.in != nil {
		s.in.start()
	}
	for _, o := range s.outs {
		o.start()
	}
	go s.hear()
}

// hear passes on what the entry says, until its end of the socket closes.
func (s *session) hear() {
	defer close(s.words)
	for {
		var w word
		files, err := s.control.Recv(&w)
		if err != nil {
			closeAll(files)
			return
		}
		if w.Word == "terminal" && len(files) == 1 && s.screen == nil {
			s.screen = newScreen(s.cmd, files[0], s.control)
			s.screen.start()
			continue
		}
		closeAll(files)
		if w.Word == "ended" || w.Word == "refused" {
			s.words <- w
		}
	}
}

// end stops the relays after the tree is gone, with all output delivered, and
// returns the entry's last word.
func (s *session) end() word {
	var last word
	for w := range s.words {
		last = w
	}
	if s.screen != nil {
		s.screen.stop()
	}
	if s.in != nil {
		s.in.stop()
	}
	for _, o := range s.outs {
		o.stop()
	}
	s.control.Close()
	<-s.writing
	return last
}

// close releases what open made, for the ways out on which nothing was started.
func (s *session) close() {
	if s.writing != nil {
		return
	}
	if s.in != nil {
		s.in.abandon()
	}
	for _, o := range s.outs {
		o.pipe.Close()
	}
}

// writeErr returns the first failure to write an output. A reader that left is
// none: the command was told as in any pipeline, and its exit says what it made
// of that.
func (s *session) writeErr() error {
	for _, o := range s.outs {
		if o.err != nil && !errors.Is(o.err, unix.EPIPE) {
			return fault.Wrap(fault.Unavailable, "run command", fmt.Errorf("write output: %w", o.err))
		}
	}
	if s.screen != nil && s.screen.out.err != nil {
		return fault.Wrap(fault.Unavailable, "run command", fmt.Errorf("write output: %w", s.screen.out.err))
	}
	return nil
}

// same reports whether both outputs go to one writer.
func same(a, b engine.Writer) (eq bool) {
	defer func() {
		if recover() != nil { // writers of an incomparable type
			eq = false
		}
	}()
	return a == b
}
