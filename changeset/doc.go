// Package changeset describes what a sandbox would change in a real resource, as data.
//
// Contract: a Set is a sorted list of Changes between two states of one
// resource. It carries kinds, modes, sizes, hashes and link texts, never file
// contents: those are read through a Source when a diff is rendered or a change
// is applied. Everything here is pure and deterministic: equal inputs give equal
// bytes.
//
// Paths are byte strings relative to the resource, '/'-separated, without "."
// or ".." components; they need not be UTF-8. JSON keeps such a path exactly in
// "path_base64" beside a readable "path".
//
// What it protects against: a reviewer who misses what matters. Flags mark new
// executables, links that leave the tree, control files, secrets and the like;
// some of them block an apply until a person decides.
package changeset
