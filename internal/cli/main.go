package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Main runs the command line and returns the exit code.
func Main() int {
	if code, handled := Reexec(os.Args); handled {
		return code
	}
	restore := rememberTerminals(os.Stdin, os.Stderr)
	ctx, interrupts := watchSignals(context.Background(), func() { restore(); os.Exit(exitInterrupted) })
	defer interrupts.stop()
	// A closed pipe is an error of the write, not the end of ambit: a sandbox may
	// still have to be discarded. Notify, not Ignore, which children would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	d := &deps{
		environ:    os.Environ(),
		getwd:      os.Getwd,
		stdin:      os.Stdin,
		stdout:     os.Stdout,
		stderr:     os.Stderr,
		now:        time.Now,
		open:       newService,
		roots:      resourceRoots,
		interrupts: interrupts,
	}
	return d.main(ctx, os.Args[1:])
}

// Reexec runs what a re-executed ambit is for (a holder, its pid 1, a probe) if
// args ask for it. A program that embeds the command line calls it first.
func Reexec(args []string) (code int, handled bool) {
	for _, hook := range reexecs {
		if code, handled := hook(args); handled {
			return code, true
		}
	}
	return 0, false
}

// rememberTerminals returns a function that puts terminals back as they are now,
// with a visible cursor, for the case that the process is ended in the middle.
func rememberTerminals(files ...*os.File) func() {
	states := map[*os.File]*term.State{}
	for _, f := range files {
		if state, err := term.GetState(int(f.Fd())); err == nil {
			states[f] = state
		}
	}
	return func() {
		for f, state := range states {
			_ = term.Restore(int(f.Fd()), state)
			_, _ = f.WriteString(showCursor)
		}
	}
}
