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
// bytes; no filter, hook or merge driver runs on the host.
//
// Prepare leaves repository and checkout unchanged but for a folder "ambit-…" in
// the git directory (in the checkout's top where that is another file system), in
// which the new files wait on the target's own file system. Commit holds
// index.lock, moves the reference by compare-and-swap, and exchanges each file
// with its waiting successor by one atomic rename, so that what is displaced is
// looked at after it was displaced and can be put back. Every step can be found
// done and skipped: a killed Commit is completed by the next one. Undo is the same
// in the other direction, from pre-images kept in the plan's folder; it takes its
// reflog entries and those of Commit back, too.
//
// An index.lock that is not this plan's own is waited for, then reported, never
// removed.
//
// # Limits
//
// Detached HEAD, an unfinished merge or rebase, a branch that another worktree has
// checked out, and a file system without RENAME_EXCHANGE are refused. Submodules:
// the index follows, the submodule's own checkout does not. Extended attributes of
// a replaced file are not carried over, hard links of it are split, as by git.
// Published objects stay in the repository after Undo, unreachable, until git
// prunes them.
package git
