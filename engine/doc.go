// Package engine runs plans: stage, run, review, apply or discard, undo, recover.
//
// Contract: the engine owns order, the journal, evidence and leases. It knows no
// technology: stores, sandbox strategies, apply targets, confinements and
// discovery are handed to it behind the interfaces in this package, and the
// faces hand it input and render what it returns. Errors at its edge are
// *fault.Error.
//
// What it protects against: work lost by a crash, a clean-up or a second
// process; a change applied by half; a step that outlives its plan. Every
// transition of a plan or sandbox is written to the store before the act and
// confirmed after it; an apply is decided by one fsynced record in the plan's
// journal, and the store is repaired from the journal, never the other way.
//
// Concurrency: an Engine is safe for concurrent use. Across processes a plan is
// guarded by its file lock together with its store row.
package engine
