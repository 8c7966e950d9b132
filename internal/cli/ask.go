package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// errNoAnswer is the end of input in place of an answer.
var errNoAnswer = errors.New("no answer")

// ask puts a question on stderr and reads one line from the terminal. Keys that
// were typed before the question are dropped: they were meant for something else.
// It returns errNoAnswer at the end of input, and the context's cause when it ends.
func (d *deps) ask(ctx context.Context, question string) (string, error) {
	flushInput(d.stdin)
	fmt.Fprintf(d.stderr, "%s ", question)
	line, err := readLine(ctx, d.stdin)
	if err != nil {
		fmt.Fprintln(d.stderr)
	}
	return strings.ToLower(strings.TrimSpace(line)), err
}

// confirm asks for yes or no; anything but yes is no. Where nobody can be asked
// it is a usage error that names --yes.
func (d *deps) confirm(ctx context.Context, what, question string) (bool, error) {
	if !d.canAsk() {
		why := "stdin is no terminal"
		if d.json {
			why = "--json asks nothing"
		}
		return false, (&usageError{message: fmt.Sprintf("%s asks before it changes anything, and %s", what, why)}).
			withHint("add --yes to go ahead without a question")
	}
	answer, err := d.ask(ctx, question+" [y/N]")
	if errors.Is(err, errNoAnswer) {
		return false, nil
	}
	return answer == "y" || answer == "yes", err
}

// declined is the error of a question answered with no.
func declined(what string) error {
	return fault.New(fault.Canceled, "", "%s: not done, as you answered", what)
}

// readLine reads up to a newline, byte by byte so that nothing beyond it is
// taken, and gives up when ctx ends.
func readLine(ctx context.Context, f *os.File) (string, error) {
	var line bytes.Buffer
	fd := int(f.Fd())
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	const slice = 100 * time.Millisecond // how long a signal may go unnoticed
	for {
		if ctx.Err() != nil {
			return "", fault.Wrap(fault.Canceled, "", context.Cause(ctx))
		}
		n, err := unix.Poll(poll, int(slice/time.Millisecond))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return "", fmt.Errorf("wait for an answer: %w", err)
		}
		if n <= 0 {
			continue
		}
		var b [1]byte
		switch n, err := unix.Read(fd, b[:]); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case err != nil || n == 0: // EIO: the terminal is gone
			if line.Len() == 0 {
				return "", errNoAnswer
			}
			return line.String(), nil
		case b[0] == '\n' || b[0] == '\r':
			return line.String(), nil
		default:
			line.WriteByte(b[0])
		}
	}
}
