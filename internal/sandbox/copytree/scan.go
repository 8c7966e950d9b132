package copytree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/internal/fsop"
)

// scanner takes the manifest of a tree.
type scanner struct {
	strat *Strategy
	dir   *fsop.Dir // the sandbox's folder
	tree  *fsop.Dir
	// cache is an earlier manifest of the same tree: inodes that nobody changed
	// since are not read again. Nil = none.
	cache *manifest
	// known tells the contents of files from elsewhere; nil = nobody does.
	known map[string]string // path → raw hash
	// skipGit leaves out the resource's own git directory.
	skipGit bool
	// force reads what its mode forbids to read, by changing the mode for a
	// moment. Only while no command runs in the tree.
	force bool
	// fresh says that the tree is one under construction, which a crash does away
	// with: what force does to it need not be written down.
	fresh bool

	m          *manifest
	pending    []int // entries that must be read
	unreadable []changeset.Skip
	trust      bool
	opened     map[string]uint32 // what force made readable, and the modes it had
	modes      map[uint64]uint32 // the same by inode: a file may have several names
}

// scan returns the tree's manifest, and what could not be read. With force the
// caller calls close when it has no more to read in the tree.
func (s *scanner) scan(ctx context.Context) (m *manifest, unreadable []changeset.Skip, err error) {
	s.m = &manifest{boot: s.strat.boot}
	// Files that changed at or after this moment may change again without their
	// times moving on, where the file system's clock ticks slowly.
	if s.m.stamp, err = takeStamp(s.dir); err != nil {
		return nil, nil, fmt.Errorf("read the file system's clock: %w", err)
	}
	s.trust = s.cache != nil && s.cache.boot == s.strat.boot
	if err = s.openUp(ctx); err == nil {
		err = s.walk(ctx)
	}
	if err == nil {
		s.pairs()
		err = s.read(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.close())
	}
	s.m.sort()
	return s.m, s.unreadable, nil
}

// takeStamp returns the present time of a file system's clock.
func takeStamp(dir *fsop.Dir) (int64, error) {
	name := fsop.TempName()
	f, err := dir.Create(name, 0o600)
	if err != nil {
		return 0, err
	}
	info, err := dir.Stat(name)
	if err := errors.Join(err, f.Close(), dir.Remove(name)); err != nil {
		return 0, err
	}
	return info.Ctime.UnixNano(), nil
}

// walk lists every entry and decides which must be read.
func (s *scanner) walk(ctx context.Context) error {
	root, err := s.tree.Stat(".")
	if err != nil {
		return err
	}
	s.add(".", root)
	opts := fsop.WalkOptions{OnError: func(path string, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			s.skip(path, "unreadable: permission denied")
			return nil
		}
		return err
	}}
	return s.tree.Walk(ctx, ".", opts, func(path string, info fsop.Info) error {
		if s.skipGit && path == gitName {
			return fs.SkipDir
		}
		s.add(path, info)
		return nil
	})
}

// pairs keeps the mark of a shared inode only where a second name lies in the tree.
func (s *scanner) pairs() {
	names := map[uint64]int{}
	for i := range s.m.entries {
		if e := &s.m.entries[i]; e.shared {
			names[e.ino]++
		}
	}
	for i := range s.m.entries {
		if e := &s.m.entries[i]; e.shared {
			e.shared = names[e.ino] > 1
		}
	}
}

func (s *scanner) skip(path, reason string) {
	s.unreadable = append(s.unreadable, changeset.Skip{Path: path, Reason: reason})
}

func (s *scanner) add(path string, info fsop.Info) {
	e := entry{
		path: path, kind: info.Kind, mode: info.Mode, uid: info.UID, gid: info.GID,
		mtime: info.Mtime.UnixNano(), ino: info.Ino, ctime: info.Ctime.UnixNano(),
	}
	switch info.Kind {
	case fsop.KindFile:
		e.size, e.shared = info.Size, info.Nlink > 1
		e.hash = s.known[path]
	case fsop.KindCharDev, fsop.KindBlockDev:
		e.rdev = uint64(info.RdevMajor)<<32 | uint64(info.RdevMinor)
	case fsop.KindSymlink:
		e.mode = 0o777 // the mode of a link means nothing
	case fsop.KindDir, fsop.KindFIFO, fsop.KindSocket, fsop.KindUnknown:
	}
	if mode, ok := s.modes[info.Ino]; ok {
		e.mode, e.ctime = mode, 0
	}
	if old := s.unchanged(&e); old != nil {
		e.hash, e.link, e.xattrs, e.damaged = old.hash, old.link, old.xattrs, old.damaged
	} else if !info.Kind.Special() {
		s.pending = append(s.pending, len(s.m.entries))
	}
	s.m.entries = append(s.m.entries, e)
}

// unchanged returns the cached entry of an inode that nobody changed since.
// Change times cannot be set by a program, unlike modification times.
func (s *scanner) unchanged(e *entry) *entry {
	if !s.trust {
		return nil
	}
	old := s.cache.find(e.path)
	if old == nil || !sameInode(old, e) || old.ctime >= s.cache.stamp || (e.kind == fsop.KindFile && old.hash == "") {
		return nil
	}
	return old
}

func sameInode(a, b *entry) bool {
	return a.kind == b.kind && a.ino == b.ino && a.ctime == b.ctime && a.ctime != 0 && a.mtime == b.mtime && a.size == b.size
}
