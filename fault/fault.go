package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Code says what kind of failure an Error is. The set is closed: faces map every
// code and a test fails on one that a table does not know.
type Code string

// The codes, and what the caller can do about each.
const (
	Invalid         Code = "invalid"          // the input is wrong; correct it
	Conflict        Code = "conflict"         // the world moved or two intents collide; decide
	NotFound        Code = "not_found"        // nothing has that name
	Exists          Code = "exists"           // something already has that name
	Denied          Code = "denied"           // policy, permission or another owner forbids it
	IdentityChanged Code = "identity_changed" // the object is no longer the one that was checked
	Stale           Code = "stale"            // the state was recorded in another incarnation
	Unsupported     Code = "unsupported"      // this machine or version cannot do it
	Unavailable     Code = "unavailable"      // a needed service or program does not answer
	Timeout         Code = "timeout"          // a stated limit ran out
	Canceled        Code = "canceled"         // the caller gave up
	Internal        Code = "internal"         // a defect in ambit
)

// Codes lists every code, in the order of declaration.
func Codes() []Code {
	return []Code{
		Invalid, Conflict, NotFound, Exists, Denied, IdentityChanged,
		Stale, Unsupported, Unavailable, Timeout, Canceled, Internal,
	}
}

// Error is the error that crosses package edges.
type Error struct {
	Code    Code   // what kind of failure
	Op      string // what was being done, lower case: "apply plan", "open journal"; may be empty
	Message string // what is wrong, for a person; one line, no trailing period
	Hint    string // what to do next, for a person; may be empty
	// Paths names the objects the failure is about (conflicting paths, missing
	// files), relative to the resource unless absolute. Rendered as a list.
	Paths []string
	// Diagnostics carries findings in user-written files.
	Diagnostics []Diagnostic
	Cause       error // what it was made from; may be nil
}

// New returns an Error with a formatted message.
func New(code Code, op, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an Error of the given code around cause. A cause that is already
// an *Error keeps its own code when code is empty.
func Wrap(code Code, op string, cause error) *Error {
	if code == "" {
		code = CodeOf(cause)
	}
	e := &Error{Code: code, Op: op, Cause: cause}
	var inner *Error
	if errors.As(cause, &inner) {
		e.Hint, e.Paths, e.Diagnostics = inner.Hint, inner.Paths, inner.Diagnostics
	}
	return e
}

// WithHint returns a copy with the hint set.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithPaths returns a copy that names paths.
func (e *Error) WithPaths(paths ...string) *Error {
	c := *e
	c.Paths = append([]string(nil), paths...)
	return &c
}

// WithCause returns a copy that wraps cause.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// Error renders "op: message: cause" with the empty parts left out.
func (e *Error) Error() string {
	var parts []string
	if e.Op != "" {
		parts = append(parts, e.Op)
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	if e.Cause != nil {
		parts = append(parts, e.Cause.Error())
	}
	if len(parts) == 0 {
		return string(e.Code)
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of the outermost *Error in err's chain. Context errors
// read as Canceled and Timeout; anything else is Internal; nil is "".
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Internal
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }

// As returns err as an *Error, wrapping it with the code CodeOf gives if it is
// none. It returns nil for nil.
func As(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) && error(e) == err { //nolint:errorlint // asks whether err itself is one
		return e
	}
	return Wrap(CodeOf(err), "", err)
}
