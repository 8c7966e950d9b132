// Package domain makes the Landlock rules of confinement and puts them on a thread.
//
// Contract: New turns lists of paths into a ruleset, which Enforce puts on the
// calling thread for good. Both rungs with Landlock use it: over a new root as
// the second line, on the host's own root as the first.
//
// It protects files below everything that is not listed (reading, where it is not
// listed as readable; every kind of writing, where it is not listed as writable),
// and, where the kernel can, keeps signals, abstract sockets and sockets outside
// the writable folders from reaching processes outside.
//
// Limits: Landlock knows nothing of stat, chmod, chown, utimes and setxattr, and
// what it can do depends on the kernel (ABI). Rules bind to the objects as they
// are when New opens them; a path that is missing then is not covered.
package domain
