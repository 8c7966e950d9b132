// Package conformance is the suite that every sandbox strategy passes.
//
// Contract: Run takes a strategy through its whole contract (engine.Strategy,
// engine.Sandbox) over real trees and real repositories. Modifications are made
// as a step makes them: by processes in namespaces of their own, through exactly
// the mounts that Enter returns. What a sandbox holds is read there too, by a
// process that sees what commands see; the strategy's own account of changes is
// compared with the difference of two such readings, entry by entry.
//
// A test binary that calls Run must call Main from its TestMain: the suite
// starts the binary again, as a second process that attaches, or that is killed
// at the n-th file-system call of an operation.
//
// What it protects against: a strategy that writes to the source, mixes up
// siblings, restores inexactly, forgets, loses work when it cleans up, or cannot
// go on where a crash left it.
//
// Limits: Linux. A resource for which a strategy's Probe says no is skipped by
// name; a strategy that is skipped for every resource fails.
package conformance
