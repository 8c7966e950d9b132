// Package fault is ambit's one error type.
//
// Contract: inside a package errors are wrapped with a short lower-case phrase
// (fmt.Errorf("open journal: %w", err)); at a package's edge they become an
// *Error whose Code says what kind of failure it is. Each face (command line,
// HTTP, MCP) maps codes in exactly one table. User-written files yield
// Diagnostics, all of them, never only the first.
//
// Limits: the package is pure; it does no I/O and keeps no state. An *Error is
// immutable once it has been returned and safe for concurrent readers.
package fault
