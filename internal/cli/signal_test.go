package cli

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// TestSignals is one test, not parallel to itself: signals go to the process.
func TestSignals(t *testing.T) {
	killed := make(chan struct{}, 1)
	ctx, in := watchSignals(t.Context(), func() { killed <- struct{}{} })
	defer in.stop()
	send := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}

	// While a pager has the terminal, Ctrl-C is the pager's; SIGTERM is not.
	resume := in.pause()
	send(syscall.SIGINT)
	send(syscall.SIGTERM)
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("SIGTERM did not end the context")
	}
	resume()
	if cause := context.Cause(ctx); cause == nil || cause.Error() != "interrupted by SIGTERM" || fault.CodeOf(cause) != fault.Canceled {
		t.Errorf("cause %v", cause)
	}
	select {
	case <-killed:
		t.Fatal("one signal that counts killed")
	default:
	}

	send(syscall.SIGINT)
	select {
	case <-killed:
	case <-time.After(10 * time.Second):
		t.Fatal("the second signal did not kill")
	}
}

func TestReadLine(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("yes \nno\nunfinished"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"yes ", "no"} {
		if got, err := readLine(t.Context(), r); got != want || err != nil {
			t.Errorf("readLine = %q, %v; want %q", got, err, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.New(fault.Canceled, "", "interrupted by SIGINT"))
	if _, err := readLine(ctx, r); !fault.Is(err, fault.Canceled) {
		t.Errorf("err = %v", err)
	}
	w.Close()
	if got, err := readLine(t.Context(), r); got != "unfinished" || err != nil {
		t.Errorf("readLine = %q, %v", got, err)
	}
	if _, err := readLine(t.Context(), r); !errors.Is(err, errNoAnswer) {
		t.Errorf("err = %v, want errNoAnswer", err)
	}
}
