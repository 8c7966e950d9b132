package tree

import (
	"bytes"
	"context"
	"maps"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/internal/fsop"
)

var errNotDir = syscall.ENOTDIR

// ident is an object as it was recorded, so that it is known again under another
// name, after a crash, in another boot. A mount's id would not survive that; the
// inode with kind, size, times and mode does, and where those disagree the
// contents decide.
type ident struct {
	Kind  changeset.Kind `json:"kind"`
	Ino   uint64         `json:"ino"`
	Btime int64          `json:"btime,omitempty"` // ns; 0 = not kept by this file system
	Mtime int64          `json:"mtime"`
	// Ctime, where it still is the same at the same name, says that nothing at
	// all was changed. 0 = not to be relied on.
	Ctime  int64             `json:"ctime,omitempty"`
	Mode   uint32            `json:"mode"`
	Wide   uint32            `json:"wide,omitempty"` // folders: the mode they may have meanwhile
	UID    uint32            `json:"uid"`
	GID    uint32            `json:"gid"`
	Size   int64             `json:"size,omitempty"`
	Hash   string            `json:"hash,omitempty"`
	Link   exact             `json:"link,omitempty"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
}

func identOf(s sight) *ident {
	id := &ident{
		Kind: entryKind(s.info.Kind), Ino: s.info.Ino, Btime: stamp(s.info.Btime), Mtime: stamp(s.info.Mtime),
		Mode: s.info.Mode, UID: s.info.UID, GID: s.info.GID, Link: exact(s.link), Xattrs: s.xattrs,
	}
	if id.Kind == changeset.File {
		id.Size, id.Hash = s.info.Size, s.hash
	}
	return id
}

func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// object reports whether a glance shows the very object, in the state recorded
// as far as a glance can tell.
func (id *ident) object(s sight) bool {
	if !s.there || entryKind(s.info.Kind) != id.Kind || s.info.Ino != id.Ino || exact(s.link) != id.Link {
		return false
	}
	if b := stamp(s.info.Btime); b != 0 && id.Btime != 0 && b != id.Btime {
		return false
	}
	switch id.Kind {
	case changeset.File:
		return s.info.Size == id.Size && stamp(s.info.Mtime) == id.Mtime && s.info.Mode == id.Mode
	case changeset.Dir:
		return s.info.Mode == id.Mode || id.Wide != 0 && s.info.Mode == id.Wide
	case changeset.Symlink:
	}
	return true
}

// content reports whether a full look shows an equal object.
func (id *ident) content(s sight) bool {
	if !s.there || !s.full || entryKind(s.info.Kind) != id.Kind || exact(s.link) != id.Link {
		return false
	}
	switch id.Kind {
	case changeset.File:
		return s.info.Mode == id.Mode && s.info.Size == id.Size && s.hash == id.Hash && sameXattrs(s.xattrs, id.Xattrs)
	case changeset.Dir:
		return (s.info.Mode == id.Mode || id.Wide != 0 && s.info.Mode == id.Wide) && sameXattrs(s.xattrs, id.Xattrs)
	case changeset.Symlink:
	}
	return true
}

func sameXattrs(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }

// at reports whether the name holds this object, or one equal to it. The object
// itself is known by a glance; only another is read.
func (id *ident) at(ctx context.Context, d *fsop.Dir, rel string, s sight) (bool, error) {
	if id == nil || !s.there {
		return false, nil
	}
	if id.object(s) {
		return true, nil
	}
	return id.equal(ctx, d, rel, s)
}

// unchanged is at, for a name that anybody may have written to since: contents
// are read, since a file can be rewritten under the same size and time.
func (id *ident) unchanged(ctx context.Context, d *fsop.Dir, rel string, s sight) (bool, error) {
	if id == nil || !s.there {
		return false, nil
	}
	if id.Kind != changeset.File && id.object(s) {
		return true, nil
	}
	return id.equal(ctx, d, rel, s)
}

// untouched is at, for a name that has not been changed by us: there the change
// time tells even what a glance cannot see.
func (id *ident) untouched(ctx context.Context, d *fsop.Dir, rel string, s sight) (bool, error) {
	if id.object(s) && (id.Kind == changeset.Dir || id.Ctime != 0 && stamp(s.info.Ctime) == id.Ctime) {
		return true, nil
	}
	return id.equal(ctx, d, rel, s)
}

func (id *ident) equal(ctx context.Context, d *fsop.Dir, rel string, s sight) (bool, error) {
	if entryKind(s.info.Kind) != id.Kind || id.Kind == changeset.File && s.info.Size != id.Size {
		return false, nil // no need to read it
	}
	full, err := study(ctx, d, rel)
	if err != nil {
		return false, err
	}
	return id.content(full), nil
}
