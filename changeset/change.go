package changeset

import (
	"io"
	"sort"
)

// Kind is what a directory entry is.
type Kind string

// Kinds that a changeset can carry. Special files (FIFOs, sockets, devices) are
// never carried; they are listed in Set.Skipped.
const (
	File    Kind = "file"
	Dir     Kind = "dir"
	Symlink Kind = "symlink"
)

// Op is what happened to a path.
type Op string

// Operations. A path whose kind changed is Modified with different kinds in
// Before and After. A rename is one Change with From set.
const (
	Created  Op = "created"
	Modified Op = "modified"
	Deleted  Op = "deleted"
	Renamed  Op = "renamed"
)

// Entry is the state of one path on one side.
type Entry struct {
	Kind Kind   `json:"kind"`
	Mode uint32 `json:"mode"`           // permission bits and setuid, setgid, sticky: st_mode & 07777
	Size int64  `json:"size,omitempty"` // bytes; files only
	Hash string `json:"hash,omitempty"` // lower-case hex SHA-256 of the contents; files only
	Link string `json:"link,omitempty"` // link text, exact bytes; symlinks only
	// Xattrs are the extended attributes that travel with the file: the user.*
	// name space without overlayfs's own user.overlay.*. Keys are full names.
	Xattrs map[string]string `json:"xattrs,omitempty"`
}

// Same reports whether two sides are equal in everything a changeset carries.
func (e *Entry) Same(o *Entry) bool {
	if e == nil || o == nil {
		return e == o
	}
	if e.Kind != o.Kind || e.Link != o.Link || len(e.Xattrs) != len(o.Xattrs) {
		return false
	}
	if e.Kind != Symlink && e.Mode != o.Mode { // the mode of a link means nothing on Linux
		return false
	}
	if e.Kind == File && (e.Size != o.Size || e.Hash != o.Hash) {
		return false
	}
	for k, v := range e.Xattrs {
		if w, ok := o.Xattrs[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// Change is one path that differs.
type Change struct {
	Path    string `json:"path"`
	Op      Op     `json:"op"`
	From    string `json:"from,omitempty"`   // the old path of a rename
	Before  *Entry `json:"before,omitempty"` // nil when created
	After   *Entry `json:"after,omitempty"`  // nil when deleted
	Binary  bool   `json:"binary,omitempty"` // a side holds a NUL byte in its first 8000 bytes, as git decides it
	Added   int    `json:"added,omitempty"`  // lines, text files only; filled by CountLines
	Removed int    `json:"removed,omitempty"`
	Flags   []Flag `json:"flags,omitempty"` // filled by Annotate, gravest first
	// Why says for a flag what raised it, where the flag alone does not.
	Why   map[Flag]string `json:"why,omitempty"`
	Steps []string        `json:"steps,omitempty"` // ids of the steps that touched it, in order
}

// Skip is a path that is not covered, and why.
type Skip struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // "socket", "fifo", "device", "unreadable: ...", "too large: ..."
}

// Set is everything that changed in one resource between two states.
type Set struct {
	Resource string   `json:"resource"` // display name
	Root     string   `json:"root"`     // absolute path of the real resource
	Type     string   `json:"type"`     // resource type
	Changes  []Change `json:"changes"`  // sorted by Path bytes
	// IgnoredPaths counts changed paths that the resource's own ignore rules
	// exclude; they stay in the sandbox unless asked for.
	IgnoredPaths int      `json:"ignored_paths,omitempty"`
	Ignored      []Change `json:"ignored,omitempty"` // those paths; only filled when requested
	Skipped      []Skip   `json:"skipped,omitempty"`
	// Drift lists paths of the real resource that changed underneath a live
	// sandbox since it was created. Shown, never applied. A path that is in
	// Changes too (as Path or From) changed on both sides: what it was before is
	// not known, its Before has an empty hash and link text, which equal nothing,
	// and every target refuses it as a conflict, also where Before is nil because
	// the real path is gone meanwhile.
	Drift   []string `json:"drift,omitempty"`
	Notices []string `json:"notices,omitempty"`
}

// Sort orders the changes by path bytes; renames sort by their new path.
func (s *Set) Sort() {
	sort.SliceStable(s.Changes, func(i, j int) bool { return s.Changes[i].Path < s.Changes[j].Path })
}

// Side selects one of the two states of a Source.
type Side int

// Sides.
const (
	Before Side = iota
	After
)

// Source reads the contents behind a Set. Open returns a regular file's bytes on
// one side; the caller closes it. Implementations open by held descriptors and
// never follow links. A content that is gone (a base that moved) is an error
// with code stale.
type Source interface {
	Open(side Side, path string) (io.ReadCloser, error)
}
