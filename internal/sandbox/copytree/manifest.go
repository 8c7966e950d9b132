package copytree

import (
	"maps"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/internal/fsop"
)

// entry is one path of a state.
type entry struct {
	path     string // relative to the tree; "." is the root
	kind     fsop.Kind
	mode     uint32
	uid, gid uint32
	rdev     uint64 // devices
	size     int64  // files
	mtime    int64  // nanoseconds since 1970
	hash     string // files: SHA-256, 32 raw bytes; empty = could not be read
	link     string // links: their text
	xattrs   map[string]string
	// shared says that other names in the tree have the same inode.
	shared bool
	// damaged says that the contents changed while the times say that nobody
	// wrote: see the package's limits.
	damaged bool

	// How the file of the present tree looked when the entry was made. It tells
	// whether its contents can have changed since, and is no part of the state.
	ino   uint64
	ctime int64 // 0 = never to be trusted
}

// manifest is a whole state.
type manifest struct {
	boot  string // the boot in which it was taken
	stamp int64  // change time of a file made before the tree was looked at
	// entries are sorted by path bytes; the root is among them.
	entries []entry
	// skipped lists what the creation left out of the copy.
	skipped []changeset.Skip
}

func (m *manifest) sort() {
	slices.SortFunc(m.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
}

// find returns the entry of a path, or nil.
func (m *manifest) find(path string) *entry {
	i, ok := slices.BinarySearchFunc(m.entries, path, func(e entry, p string) int { return strings.Compare(e.path, p) })
	if !ok {
		return nil
	}
	return &m.entries[i]
}

// same reports whether two entries are one state of a path: everything but the
// traces of the inode and, for directories, the time.
func (e *entry) same(o *entry) bool {
	return e.path == o.path && e.kind == o.kind && e.mode == o.mode && e.uid == o.uid && e.gid == o.gid &&
		e.rdev == o.rdev && e.size == o.size && (e.mtime == o.mtime || e.kind == fsop.KindDir) &&
		e.hash == o.hash && e.link == o.link && e.shared == o.shared && maps.Equal(e.xattrs, o.xattrs)
}

// same reports whether two manifests are one state.
func (m *manifest) same(o *manifest) bool {
	return slices.EqualFunc(m.entries, o.entries, func(a, b entry) bool { return a.same(&b) })
}

// identical reports whether a manifest can stand for the other in every use.
func (m *manifest) identical(o *manifest) bool {
	return m.boot == o.boot && slices.Equal(m.skipped, o.skipped) &&
		slices.EqualFunc(m.entries, o.entries, func(a, b entry) bool {
			return a.same(&b) && a.mtime == b.mtime && a.ino == b.ino && a.ctime == b.ctime && a.damaged == b.damaged
		})
}

// describe renders an entry as a side of a change; nil for special files.
func (e *entry) describe() *changeset.Entry {
	out := &changeset.Entry{Mode: e.mode}
	switch e.kind {
	case fsop.KindFile:
		out.Kind, out.Size, out.Hash = changeset.File, e.size, hexOf(e.hash)
	case fsop.KindDir:
		out.Kind = changeset.Dir
	case fsop.KindSymlink:
		out.Kind, out.Link = changeset.Symlink, e.link
	default:
		return nil
	}
	for name, v := range e.xattrs {
		if travels(name) {
			if out.Xattrs == nil {
				out.Xattrs = map[string]string{}
			}
			out.Xattrs[name] = v
		}
	}
	return out
}

// travels tells which attributes a changeset carries.
func travels(name string) bool {
	return strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "user.overlay.")
}

// underGit reports whether a path is the resource's own git directory or below it.
func underGit(path string) bool { return path == gitName || strings.HasPrefix(path, gitName+"/") }

const gitName = ".git"

// nestedGit returns the shortest prefix of a path that names a git directory or
// pointer of another repository, by any spelling that some system takes for one.
func nestedGit(path string) (string, bool) {
	for i := 0; i < len(path); {
		end := strings.IndexByte(path[i:], '/')
		if end < 0 {
			end = len(path)
		} else {
			end += i
		}
		if strings.EqualFold(path[i:end], gitName) {
			return path[:end], true
		}
		i = end + 1
	}
	return "", false
}
