// Package git carries a plan into a git repository: as commits on the checked-out
// branch, whose checkout follows (ToCommit), or on a new branch that nothing else
// follows (ToBranch). It implements engine.Target.
//
// # What is published
//
// The plan's commits arrive as a hostile pack. They are checked in a quarantine
// and, where the branch still stands where the sandbox was made, published as they
// are. Where it moved on, or where they stand on a carry commit (the person's
// uncommitted work, which is never published), each is merged onto the present tip
// in turn, authors, dates, messages and trailers kept. Squash makes one commit of
// them. Without a history one commit is built from the changeset: a path whose
// present version is not the one the changeset started from is a conflict, or
// merged when the request says so.
//
// # What happens to the checkout
//
// Only paths that the result changes are looked at and touched. Each must be clean,
// in index and work tree, or already be what it is to become; everything else that
// is dirty stays as it is, nothing is ever stashed (C125). Files get the sandbox's
// bytes; no filter, hook or merge driver runs on the host. The files are carried by
// the target for plain directories, which is handed in: it stages, exchanges and
// takes back; this package adds what git has, the index and the reference.
//
// Prepare leaves repository and checkout unchanged. Commit holds index.lock, has
// the files exchanged, moves the reference by compare-and-swap and replaces the
// index by one in which only the touched entries differ. Every step can be found
// done and skipped: a killed Commit is completed by the next one. Undo is the same
// backwards; it takes its reflog entries and those of Commit back, too.
//
// index.lock is a second name of a file that only this apply has, so that a crash
// leaves a lock it knows again. One that is not its own is waited for, then
// reported, never removed.
//
// # Limits
//
// Detached HEAD, an unfinished merge or rebase, a branch that another worktree has
// checked out are refused. Submodules: the index follows, the submodule's own
// checkout does not. What the target for files cannot do, this one cannot.
// Published objects stay in the repository after Undo, unreachable, until git
// prunes them.
package git
