package cli

import (
	"errors"
	"io"
	"syscall"

	"github.com/ambit-run/ambit/fault"
)

// printed is stdout as commands print on it. It remembers the first write that
// failed, so that no line that got lost ends with exit code 0.
type printed struct {
	to  io.Writer
	err error
}

func (p *printed) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.to.Write(b)
	p.err = err
	return n, err
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
	switch {
	case p.err == nil, err != nil && !errors.Is(err, p.err):
		return err
	case errors.Is(p.err, syscall.EPIPE):
		return errReaderLeft
	}
	return fault.New(fault.Unavailable, "print", "stdout cannot be written, so part of the output is missing").WithCause(p.err).
		WithHint("what the command did is done: `ambit ps` and `ambit status` show it. Free some space where the output goes")
}
