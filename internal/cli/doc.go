// Package cli is the command-line face: it parses what was typed, calls the
// engine, and renders what comes back. It holds no rule.
//
// Contract: one file per command, each with its options, its newXCmd(*deps) and
// its runX(ctx, deps, options). Results go to stdout, progress and questions to
// stderr. With --json every command prints exactly one object on stdout, on
// success and on failure, and asks nothing. Exit codes come from one table
// (exitcode.go). Nothing is asked where stdin or stderr is no terminal.
//
// What it protects against: a screen that lies. Names, titles and output that
// come out of a sandbox are hostile; whatever this package writes to a terminal
// itself has its control characters made visible (clean.go). Bytes pass
// untouched only where a program's own terminal is relayed and where output
// goes into a pipe or file.
package cli
