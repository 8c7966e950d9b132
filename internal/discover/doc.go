// Package discover turns a path into the resource that holds it.
//
// Contract: the resource is the work tree of the git checkout around the path
// (main, linked worktree or submodule: each is a checkout of its own), else the
// directory itself. The search goes up as git's does: it stops at the root, at
// the end of the file system and above the person's home. The path of a resource
// is canonical; the person's own spelling is kept beside it where it differs.
//
// It writes nothing and starts nothing that a tree could name. A folder is
// recognised as a git directory by its files; git is only asked, through gitx,
// what HEAD is. Where there is a checkout but no git program, discovery fails with
// code unavailable instead of treating the checkout as a plain directory: its
// .git folder would otherwise be copied, shown and applied like any other file.
//
// What it protects against: work in the wrong place. A .git pointer that leads
// nowhere, to another worktree's folder (a copied worktree), or through links into
// a repository spread over several places is refused with the reason (C28, C76,
// C78), never skipped in favour of a repository further up.
//
// Limits: bare repositories are refused; there is nothing to work on in them.
// Repositories whose objects or references are links to elsewhere (Android's
// "repo" tool) are refused, since a sandbox could not cover them.
package discover
