package tree

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// tick is the coarsest grain of a change time before Linux 6.13: a file that was
// changed no longer ago than this may change again under the same change time.
const tick = 20 * time.Millisecond

// layOut turns the items into steps, in the order in which they are carried out:
// what goes, deepest first; folders, parents first; files and links; and the
// modes of folders. epoch is the kernel's time when the survey began.
func (s *survey) layOut(epoch time.Time) (steps []step, modes []dirMode, wants []want) {
	var gone, folders, leaves []*item
	for _, p := range s.paths {
		it := s.items[p]
		if !it.keep {
			wants = append(wants, want{Path: exact(p), Entry: it.result})
		}
		n := s.need(it)
		if n == needRemove || n == needRetype {
			gone = append(gone, it)
		}
		switch {
		case n == needPlace && it.becomes() == changeset.Dir, n == needRetype && it.becomes() == changeset.Dir:
			folders = append(folders, it)
		case n == needPlace, n == needSwap, n == needRetype:
			leaves = append(leaves, it)
		case n == needDirModes:
			modes = append(modes, s.dirModes(it))
		}
	}
	slices.SortStableFunc(gone, func(a, b *item) int { return cmp.Compare(depth(b.path), depth(a.path)) })
	for _, it := range gone {
		steps = append(steps, step{Op: opRemove, Path: exact(it.path), Slot: slot(len(steps), "old"), Old: s.old(it, epoch)})
		if it.is() == changeset.Dir {
			modes = append(modes, s.removed(it))
		}
	}
	for _, it := range slices.Concat(folders, leaves) {
		st := step{Op: opPlace, Path: exact(it.path), Slot: slot(len(steps), "new")}
		if s.need(it) == needSwap {
			st.Op, st.Old = opSwap, s.old(it, epoch)
		}
		steps = append(steps, st)
		if it.becomes() == changeset.Dir {
			mode := it.result.Mode
			modes = append(modes, dirMode{Path: exact(it.path), From: mode, To: mode, Wide: mode | 0o700, Created: true})
		}
	}
	return steps, s.widened(modes), wants
}

func slot(n int, side string) string { return fmt.Sprintf("%06d.%s", n, side) }

func (s *survey) old(it *item, epoch time.Time) *ident {
	id := identOf(it.now)
	if it.now.info.Ctime.Before(epoch.Add(-tick)) {
		id.Ctime = stamp(it.now.info.Ctime)
	}
	if id.Kind == changeset.Dir {
		id.Wide = id.Mode | 0o700
	}
	return id
}

// dirModes is what changes about a folder that stays one.
func (s *survey) dirModes(it *item) dirMode {
	m := dirMode{Path: exact(it.path), Ino: it.now.info.Ino, From: it.now.info.Mode, To: it.result.Mode}
	for k, v := range it.now.xattrs {
		if nv, ok := it.result.Xattrs[k]; !ok || nv != string(v) {
			m.setAttr(k, v, nil)
		}
	}
	for k, v := range it.result.Xattrs {
		if ov, ok := it.now.xattrs[k]; !ok || string(ov) != v {
			m.setAttr(k, ov, []byte(v))
		}
	}
	// Attributes want a writable folder, and so do entries, on the way there and back.
	if m.Old != nil || m.From&m.To&0o300 != 0o300 {
		m.Wide = m.From | m.To | 0o700
	}
	return m
}

func (m *dirMode) setAttr(name string, old, now []byte) {
	if m.Old == nil {
		m.Old, m.New = map[string][]byte{}, map[string][]byte{}
	}
	if old != nil {
		m.Old[name] = old
	}
	if now != nil {
		m.New[name] = now
	}
}

func (s *survey) removed(it *item) dirMode {
	i := it.now.info
	m := dirMode{Path: exact(it.path), Ino: i.Ino, From: i.Mode, To: i.Mode, Removed: true, Mtime: stamp(i.Mtime)}
	if i.Mode&0o300 != 0o300 { // a folder that its owner may not write to cannot be moved
		m.Wide = i.Mode | 0o700
	}
	return m
}

// widened opens those folders for a while that would refuse their owner.
func (s *survey) widened(modes []dirMode) []dirMode {
	known := map[string]bool{}
	for i := range modes {
		m := &modes[i]
		known[string(m.Path)] = true
		if info, ok := s.wide[string(m.Path)]; ok {
			m.Wide = info.Mode | m.To | 0o700
		}
	}
	for path, info := range s.wide {
		if !known[path] {
			modes = append(modes, dirMode{Path: exact(path), Ino: info.Ino, From: info.Mode, To: info.Mode, Wide: info.Mode | 0o700})
		}
	}
	slices.SortFunc(modes, func(a, b dirMode) int { return cmp.Compare(a.Path, b.Path) })
	return modes
}

// heir is what a new entry inherits from the nearest folder above it that exists
// already: the group of a set-group-id folder, the default ACL.
type heir struct {
	gid int // -1 = none
	acl []byte
}

const (
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
)

func (s *survey) inherits(path string, known map[string]heir) (heir, error) {
	dir, _ := fsop.SplitRel(path)
	if h, ok := known[dir]; ok {
		return h, nil
	}
	h := heir{gid: -1}
	info, there, err := s.folder(dir)
	switch {
	case err != nil && !fault.Is(err, fault.Denied):
		return h, err
	case err == nil && there && info.Kind == fsop.KindDir:
		if info.Mode&0o2000 != 0 {
			h.gid = int(info.GID)
		}
		if h.acl, err = optional(s.root.GetXattr(dir, aclDefault)); err != nil {
			return h, err
		}
	case dir != ".":
		if h, err = s.inherits(dir, known); err != nil {
			return h, err
		}
	}
	known[dir] = h
	return h, nil
}
