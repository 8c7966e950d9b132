//go:build linux

package holder

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSinkDoesNotWaitForStrangers: a tree that is gone may have passed its end of
// the pipe to somebody who lives on.
func TestSinkDoesNotWaitForStrangers(t *testing.T) {
	t.Parallel()
	r, w, err := streamPipe(0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() // stays open past stop
	var out bytes.Buffer
	s := newSink(r, &out)
	s.start()
	if _, err := w.WriteString("said"); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if out.String() != "said" {
		t.Errorf("got %q", out.String())
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestSinkClosesThePipeOfABrokenWriter(t *testing.T) {
	t.Parallel()
	r, w, err := streamPipe(0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := newSink(r, failing{io.ErrShortWrite})
	s.start()
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	<-s.done
	if _, err := w.WriteString("y"); !errors.Is(err, unix.EPIPE) {
		t.Errorf("the command can go on writing: %v", err)
	}
	s.stop()
	if !errors.Is(s.err, io.ErrShortWrite) {
		t.Errorf("error %v", s.err)
	}
}

// TestFeedStops in every state: waiting for input, waiting for a reader, at the
// input's end.
func TestFeedStops(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(in *os.File){
		"no input":   func(*os.File) {},
		"much input": func(in *os.File) { go func() { _, _ = in.WriteString(strings.Repeat("x", 1<<20)) }() },
		"input ends": func(in *os.File) { in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			far, pipe, err := streamPipe(1)
			if err != nil {
				t.Fatal(err)
			}
			f := newFeed(from, pipe)
			f.start()
			prepare(in)
			f.stop()
			far.Close()
			from.Close()
			in.Close()
		})
	}
}

// TestFeedLeavesWhatItDidNotTake: input that the command was not given stays for
// whoever reads next.
func TestFeedLeavesWhatItDidNotTake(t *testing.T) {
	t.Parallel()
	from, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	far, pipe, err := streamPipe(1)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	f := newFeed(from, pipe)
	f.start()
	if _, err := in.WriteString("for the command"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := far.Read(buf)
	if err != nil || string(buf[:n]) != "for the command" {
		t.Fatalf("%q %v", buf[:n], err)
	}
	f.stop()
	if _, err := in.WriteString("for the prompt"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if rest, err := io.ReadAll(from); err != nil || string(rest) != "for the prompt" {
		t.Errorf("%q %v", rest, err)
	}
}
