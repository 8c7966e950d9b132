package cli

import (
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/ambit-run/ambit/fault"
)

// printed is stdout or stderr as commands print on it. It remembers the first
// write that failed, so that no line that got lost ends with exit code 0. Safe for
// concurrent use.
type printed struct {
	name string
	to   io.Writer
	// quiet keeps a failure from whoever writes: what is said on the side must not
	// keep a command from carrying out what it was asked for.
	quiet bool

	mu  sync.Mutex
	err error
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	if p.err == nil {
		n, p.err = p.to.Write(b)
	}
	if p.quiet {
		return len(b), nil
	}
	return n, p.err
}

// raw is the stream itself, for commands inside: what becomes of their output is
// their own business.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*printed); ok {
		return p.to
	}
	return w
}

// errReaderLeft ends a command whose reader has read enough, as in `ambit ps |
// head -1`: quietly, with the code that a shell gives a program killed by SIGPIPE.
var errReaderLeft = errors.New("whoever read the output left")

// lost says what a failure to print means for a command that returned err.
func (p *printed) lost(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err == nil, err != nil && !errors.Is(err, p.err):
		return err
	case errors.Is(p.err, syscall.EPIPE):
		return errReaderLeft
	}
	return fault.New(fault.Unavailable, "print", "%s cannot be written, so part of the output is missing", p.name).WithCause(p.err).
		WithHint("what the command did is done: `ambit ps` and `ambit status` show it. Free some space where the output goes")
}
