// Package gitx runs the git program, hardened. Nothing else in ambit starts git
// on the host.
//
// Contract: a Repo is one repository, named by its git directory, common
// directory and optional work tree; none of them is ever searched for. There are
// two ways to look at it, and a command is only accepted in the one it is safe in:
//
//   - the Repo itself, whose git directory is the real one. Only commands that
//     read or move references, keep the list of worktrees or read configuration
//     run here. Git reads the repository's own configuration while they do;
//     everything in it that could start a program is overridden from the command
//     scope, which no file and no include can win over.
//   - Plain, a git directory of ambit's own that has no configuration, no hooks
//     and no references, placed in front of the same objects, index and work
//     tree. All work on objects, trees, indexes and files runs here. Filters,
//     diff and merge drivers, text conversions, external diffs, file system
//     monitors and included files of the repository are not overridden but
//     absent: git never learns of them, whatever a checkout or a concurrent
//     writer puts into the repository's configuration meanwhile. A fixed list of
//     harmless settings (core.fileMode, core.autocrlf and the like) is read once
//     and passed along.
//
// The environment of git is built from nothing: no GIT_* variable of the caller
// reaches it. System and global configuration are off, hooks, maintenance,
// transports, prompts, pagers, editors, signing and replace refs too. Arguments
// are vectors; a value that begins with '-' is refused and paths follow "--".
//
// What it protects against: a repository or a sandboxed object directory that
// makes ambit run a program, read another repository, or change a reference,
// index or configuration it was not asked to change.
//
// Limits: git 2.39 or newer. Objects of a sandbox arrive as a pack and are only
// read after Import has checked them in a quarantine; git never runs on a
// sandbox's own git directory here. A repository is trusted to hold the person's
// own objects; what git's own parsers make of a damaged one is reported, not mended.
//
// Errors are *fault.Error whose text names the git command and carries its
// standard error (C124): unavailable (no git, no space), unsupported (older than
// 2.39, an extension git does not know), conflict (a lock is held, a reference
// moved), denied, not_found, canceled, timeout, invalid (a value that is
// refused), internal otherwise. A failed git command is an *ExitError in the chain.
//
// Concurrency: a Git and a Repo are safe for concurrent use.
package gitx
