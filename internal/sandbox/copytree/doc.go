// Package copytree isolates a directory or a git checkout by copying it:
// engine.StrategyCopyOnWrite shares the blocks of files with the original where
// the file system can, engine.StrategyFilesystemCopy never does. Otherwise they
// are one.
//
// Contract: the copy is whole. Ignored files, uncommitted work, empty
// directories, modes, times, user attributes, POSIX ACLs, hard-link pairs and
// holes come along; what cannot (sockets, FIFOs and devices of the source, files
// that may not be read, another owner) is listed, never silently left out, and
// how many files and bytes were shared or copied is said. Nothing is ever
// hard-linked to the original. Other file systems mounted below the source are
// copied like the rest.
//
// A checkout gets a git directory of its own, complete, on branch
// ambit/<plan>; `.git` files of linked worktrees and submodules become or lead
// to repositories inside the copy, or lead nowhere, so nothing done to git
// inside can reach the real repository.
//
// A sandbox's folder holds
//
//	sandbox.json     the whole state, replaced atomically
//	tree/            the present state, what commands see
//	manifests/NNNN   states: every path with kind, mode, times, inode, hash, ...
//	objects/xx/…     contents of files that checkpoints need, by SHA-256
//	build/, old/     a state under construction, or one on its way out
//	opened           modes that are to be put back, while shut files are read
//
// The state right after creation has a manifest but no contents of its own: the
// first checkpoint stores everything, later ones what changed. Until then the
// contents before a change are read from the real resource, if they still are
// what the manifest says, and are code stale otherwise.
//
// Restore builds the whole state beside the present one and exchanges the two;
// if anything fails, the present one has not been touched.
//
// What it protects against: residue after a rollback; a copy that a crash cut
// off being taken for a whole one; a rollback that reads a base the person has
// since edited; hostile trees (everything goes through internal/fsop); stored
// contents that rotted (verified by hash whenever they are used).
//
// Limits. Contents are not fsynced file by file, which would cost many times the
// copy. Files that a power cut damaged are recognised after the next boot,
// because their times say that nobody wrote to them, and are listed as not
// covered instead of as changes. Without namespaces of its own, a copy lies at
// another path, and an absolute link inside it still leads to the original:
// creation names such links. Attributes other than user.* and ACLs are kept for
// root only.
package copytree
