package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

func TestEveryFaultCodeHasAnExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range fault.Codes() {
		code, ok := exitCodes[c]
		if !ok {
			t.Errorf("fault code %q has no exit code", c)
			continue
		}
		// 0, 1, 2 and 8 have meanings of their own; above 127 shells speak of signals.
		if code <= exitUsage || code == exitPending || code > 127 && code != exitInterrupted {
			t.Errorf("fault code %q has exit code %d", c, code)
		}
	}
	if len(exitCodes) != len(fault.Codes()) {
		t.Errorf("%d entries for %d codes", len(exitCodes), len(fault.Codes()))
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&commandFailed{what: "x"}, 1},
		{&usageError{message: "x"}, 2},
		{fault.New(fault.Invalid, "", "x"), 3},
		{fault.New(fault.Denied, "", "x"), 4},
		{fault.New(fault.Conflict, "", "x"), 5},
		{fault.New(fault.NotFound, "", "x"), 6},
		{fault.New(fault.Unsupported, "", "x"), 7},
		{&exitStatus{exitPending}, 8},
		{fault.New(fault.Canceled, "", "x"), 130},
		{fmt.Errorf("plain"), 70},
		{&withFields{err: fmt.Errorf("deep: %w", &commandFailed{what: "x"})}, 1},
		{fault.New("made up", "", "x"), 70},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestJoinedErrorsAreAllSaid(t *testing.T) {
	t.Parallel()
	first := fault.New(fault.Conflict, "apply", "a.txt moved")
	err := &withFields{err: errors.Join(errors.Join(first, nil), fault.New(fault.Internal, "unlock", "no lock"))}
	if got := describe(err); got.Code != "conflict" || got.Op != "apply" || got.Message != "a.txt moved; besides, unlock: no lock" {
		t.Errorf("%+v", got)
	}
	if exitCode(err) != 5 {
		t.Errorf("exit code %d", exitCode(err))
	}
}
