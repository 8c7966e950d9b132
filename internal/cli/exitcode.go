package cli

import (
	"errors"

	"github.com/ambit-run/ambit/fault"
)

// Exit codes of the command line that no fault code stands for.
const (
	exitDone        = 0
	exitFailed      = 1 // the person's command, or a step, failed; ambit itself did its work
	exitUsage       = 2
	exitPending     = 8 // diff --exit-code: there is something to review
	exitInterrupted = 130
	exitReaderLeft  = 128 + 13 // SIGPIPE, as a shell reports it
)

// exitCodes is the one table from fault codes to exit codes.
//
// identity_changed, stale and exists are conflicts for a person: the world is
// not as it was when they decided. unavailable and timeout share a code of their
// own, because there the same command may work a little later. internal is
// EX_SOFTWARE of sysexits.h, far from what a script tests for.
var exitCodes = map[fault.Code]int{
	fault.Invalid:         3,
	fault.Denied:          4,
	fault.Conflict:        5,
	fault.Exists:          5,
	fault.IdentityChanged: 5,
	fault.Stale:           5,
	fault.NotFound:        6,
	fault.Unsupported:     7,
	fault.Unavailable:     9,
	fault.Timeout:         9,
	fault.Internal:        70,
	fault.Canceled:        exitInterrupted,
}

// exitCode maps what a command returned.
func exitCode(err error) int {
	var usage *usageError
	var failed *commandFailed
	var status *exitStatus
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return status.code
	case errors.Is(err, errReaderLeft):
		return exitReaderLeft
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &failed):
		return exitFailed
	}
	if code, ok := exitCodes[fault.CodeOf(err)]; ok {
		return code
	}
	return exitCodes[fault.Internal]
}

// exitStatus ends a command that has done its work with another code than 0. The
// command has rendered its result itself.
type exitStatus struct{ code int }

func (e *exitStatus) Error() string { return "done" }
