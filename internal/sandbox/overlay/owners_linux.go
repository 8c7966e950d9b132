package overlay

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// ownerEntries bounds the look at owners; a few milliseconds.
const ownerEntries = 3_000

// foreign is an entry that belongs to somebody else.
type foreign struct {
	path     string
	uid, gid uint32
}

func (f foreign) String() string {
	return fmt.Sprintf("%s belongs to user %d, group %d", f.path, f.uid, f.gid)
}

// firstForeign looks for an entry of another owner or group, breadth first, so
// that a wide tree's upper floors are all seen before the bound is met. A plain
// user's namespace maps one user and one group: whatever belongs to another
// cannot be written, appended to or renamed inside (EOVERFLOW).
func firstForeign(ctx context.Context, d *fsop.Dir, uid, gid uint32) (found *foreign, err error) {
	info, err := d.Stat(".")
	if err != nil {
		return nil, err
	}
	if info.UID != uid || info.GID != gid {
		return &foreign{".", info.UID, info.GID}, nil
	}
	queue, n := []string{"."}, 0
	for len(queue) > 0 {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		dir := queue[0]
		queue = queue[1:]
		at, err := d.OpenDir(dir)
		if err != nil {
			if absent(err) == nil || fault.Is(err, fault.Denied) {
				continue
			}
			return nil, err
		}
		found, n, queue, err = foreignIn(ctx, at, dir, uid, gid, n, queue)
		_ = at.Close()
		if err != nil || found != nil {
			return found, err
		}
		if n >= ownerEntries {
			return nil, nil //nolint:nilnil // none was found
		}
	}
	return nil, nil //nolint:nilnil // none was found
}

func foreignIn(ctx context.Context, at *fsop.Dir, dir string, uid, gid uint32, n int, queue []string) (*foreign, int, []string, error) {
	var found *foreign
	opts := fsop.WalkOptions{
		MaxDepth: 1,
		// A directory of ours that we may not list hides its owners; commands
		// inside cannot get at them either.
		OnError: func(string, error) error { return nil },
	}
	err := at.Walk(ctx, ".", opts, func(name string, info fsop.Info) error {
		path := fsop.Join(dir, name)
		n++
		switch {
		case info.UID != uid || info.GID != gid:
			found = &foreign{path, info.UID, info.GID}
			return fs.SkipAll
		case n >= ownerEntries:
			return fs.SkipAll
		case info.Kind == fsop.KindDir:
			queue = append(queue, path)
		}
		return nil
	})
	if fault.Is(err, fault.Denied) {
		err = nil // the directory itself may not be opened: as above
	}
	return found, n, queue, err
}

// foreign finds the first entry of another owner or group in a resource: in a
// checkout among the files that git knows, by what its index remembers of them,
// then by a bounded look at the tree itself, which also meets folders, build
// output and what else git does not know.
func (s *Strategy) foreign(ctx context.Context, lower *fsop.Dir, r engine.Resource) (*foreign, error) {
	if r.Git != nil {
		f, err := s.foreignTracked(lower, r)
		if err != nil || f != nil {
			return f, err
		}
	}
	found, err := firstForeign(ctx, lower, s.uid, s.gid)
	if err != nil || found != nil || r.Git == nil || inside(r.Path, r.Git.CommonDir) {
		return found, err
	}
	common, err := s.openRoot(r.Git.CommonDir)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	if found, err = firstForeign(ctx, common, s.uid, s.gid); found != nil {
		found.path = filepath.Join(r.Git.CommonDir, found.path)
	}
	return found, err
}

func (s *Strategy) foreignTracked(lower *fsop.Dir, r engine.Resource) (*foreign, error) {
	gitDir, err := s.openRoot(r.Git.GitDir)
	if err != nil {
		return nil, err
	}
	defer gitDir.Close()
	raw, err := fsop.ReadFile(gitDir, "index", indexLimit)
	if err != nil {
		return nil, absent(err)
	}
	var found *foreign
	// An index that cannot be read is git's to complain about; the look at the
	// tree follows in any case.
	_, _ = eachIndexEntry(raw, idLen(r.Git.Head), func(e indexEntry) bool {
		if !e.stated || (e.uid == s.uid && e.gid == s.gid) {
			return true
		}
		info, err := lower.Stat(e.path) // the index may be older than a chown
		if err == nil && (info.UID != s.uid || info.GID != s.gid) {
			found = &foreign{e.path, info.UID, info.GID}
			return false
		}
		return true
	})
	return found, nil
}
