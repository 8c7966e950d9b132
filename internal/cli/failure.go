package cli

import (
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/engine"
)

// commandFailed is the error of a command of the person's, or of a step, that
// ran and failed. Its JSON code is "failed".
type commandFailed struct {
	what string // "make fmt", "step n02-test-it"
	exit engine.Exit
	why  string // where no exit code says it: "took longer than 1h0m0s"
	hint string
}

func (e *commandFailed) Error() string {
	if e.exit.Code == 0 && e.why != "" {
		return e.what + " failed: " + e.why
	}
	text := e.what + " " + describeExit(e.exit)
	if _, because, ok := strings.Cut(e.why, "; "); ok { // what the boundary has to do with it
		text += "; " + because
	}
	return text
}

// describeExit says how a command ended, in words that follow its name.
func describeExit(x engine.Exit) string {
	if x.Signal != "" {
		return fmt.Sprintf("was killed by %s (code %d)", x.Signal, x.Code)
	}
	return fmt.Sprintf("ended with code %d", x.Code)
}

// withFields adds fields to the JSON object of a failure: what a caller needs to
// go on from there.
type withFields struct {
	err    error
	fields any // a struct that marshals to an object
}

func (e *withFields) Error() string { return e.err.Error() }
func (e *withFields) Unwrap() error { return e.err }
