// Package ticket turns a Markdown checklist into an execution DAG: tasks, files
// and tests, then nodes, edges, waves, a manifest with its hash, the handoff and
// the prompt of a step.
//
// # Contract
//
// Parse reads one file and returns what it understood together with every
// finding; it never stops at the first and never panics. Build makes the DAG.
// Both are pure: no file is read or written, no process started, no network, no
// clock, no randomness, and the input is never changed. The same bytes and the
// same options give the same result and the same hash, on every machine. All
// functions may be called concurrently; results are plain data that nothing
// keeps.
//
// Nothing a ticket says authorizes anything. Front matter requests (image,
// network, resources); whoever runs the plan grants. execution_authorized and
// authorized are false by type: no value can be put there.
//
// Readiness is decided in one place, Dag.Ready and its frontier: waves, the next
// node and the engine ask the same function.
//
// # Grammar
//
// Grammars stand behind one small interface. The default is practical: CommonMark,
// in which every list item with a box is a step unless its section says otherwise.
// What changes the outcome, or might not be meant, is a diagnostic with line and
// column; no box disappears without one. The other is literal: the regular
// expressions and section rules of the format exactly, with Python's classes of
// characters, for whoever needs what another implementation makes of the same
// file; nothing but a limit and a cycle stops it. What a user has to know is in
// docs/tickets.md.
//
// The practical grammar knows formats (Options.Format): notations of other programs.
// A format adds what else stands in a line and the order that its author means; the
// boxes are read by the one reader. ParseAll reads several files as one ticket.
//
// The order of a list is kept as Sequences: of two steps in different batches of
// one, the step in the earlier batch is in an earlier wave, as long as it is left to
// run and waits for nothing that is deferred. A declared dependency is stronger: a
// step that waits for a later one of the list stands behind it in the sequence.
//
// # Limits
//
// A file larger than Options.MaxBytes (DefaultMaxBytes, 8 MiB) is refused before
// it is looked at, one of more than MaxLines lines before it is parsed. So are
// bytes that are not UTF-8 and NUL bytes. A ticket has up to MaxTasks tasks and a
// DAG up to MaxEdges edges. Lists and quotes nest up to maxNesting levels, and
// the tree they make is bounded; front matter holds up to maxFrontMatterBytes and
// no aliases; at most maxFindings findings are listed. Parsing, ordering and hashing are linear in
// the size of the file, apart from a logarithm for ties; no expression
// backtracks.
//
// # Protects against
//
// A checklist that hides steps from its reader or from ambit (fences, comments,
// quotes, odd boxes); a dependency that is read as prose, or prose that is read
// as a dependency; a typing error in a dependency that would let a step run too
// early; a cycle; a file made to exhaust memory, stack or time. It does not
// protect against a step whose command or text is harmful: that is what the
// sandbox is for.
package ticket
