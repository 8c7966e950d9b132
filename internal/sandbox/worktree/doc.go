// Package worktree isolates a git checkout by checking it out again: the
// engine's strategy git_worktree.
//
// Contract: the sandbox is filled from the commit that is checked out, recorded
// as its base, and verified equal to it. The person's uncommitted work comes along
// as a commit that the plan's own commits stand on (carry), is refused, or is left
// behind (hide). Ignored files stay behind and are listed, but for those that the
// request or .worktreeinclude names; these are copied and excluded from git inside
// by their exact names. Submodules and files that wanted a filter program (LFS) are
// listed. What a sandbox is afterwards, its checkpoints, changes and restores, is
// package copytree's business.
//
// # What the real repository sees
//
// A linked worktree, locked, on a new branch ambit/<plan> at the base, and a
// reference refs/ambit/<plan>/<sandbox> that keeps the base from being collected:
// so git worktree list shows it, and git refuses to check the branch out or to
// delete it elsewhere. Nothing else: no object, no configuration, no hook. Where
// steps run without namespaces there is only the reference, which goes when the
// plan is discarded if the repository holds the base without it.
//
// # What git inside sees
//
// A git directory of its own, in the checkout's .git, which borrows the real
// objects read-only and has everything else for itself: HEAD on ambit/<plan>, all
// references as they were, configuration, index. A pointer file to the real
// repository's administrative folder could only work if steps wrote the real
// common directory, and `git config` or a hook planted there would run for the
// person later (docs/decisions).
//
// # What it protects against
//
// Creations that race for git's locks (C16, C17) go one after another; a taken
// branch is an error (C13, C14); half states of a crash, registered without folder
// or the reverse, are recognised by the reference and taken back (C8); removal
// touches only the worktree at this sandbox's path and references that still hold
// what was recorded (C2, C6, C22), has no harsher second attempt (C4), and reports
// success after looking again (C9).
//
// Limits: a repository without a commit, one with references in the reftable
// format, and a bare one are refused. The worktree has its own .git folder, so
// `git worktree remove` refuses it, and so do `move` and `repair`. Running the
// host's own git in it is running git on a sandboxed repository.
package worktree
