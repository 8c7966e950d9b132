package overlay

import (
	"context"
	"fmt"
	"io/fs"

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
func firstForeign(ctx context.Context, d *fsop.Dir, uid, gid uint32) (found *foreign, complete bool, err error) {
	info, err := d.Stat(".")
	if err != nil {
		return nil, false, err
	}
	if info.UID != uid || info.GID != gid {
		return &foreign{".", info.UID, info.GID}, true, nil
	}
	queue, n := []string{"."}, 0
	for len(queue) > 0 {
		if err := context.Cause(ctx); err != nil {
			return nil, false, err
		}
		dir := queue[0]
		queue = queue[1:]
		at, err := d.OpenDir(dir)
		if err != nil {
			if absent(err) == nil {
				continue
			}
			return nil, false, err
		}
		found, n, queue, err = foreignIn(ctx, at, dir, uid, gid, n, queue)
		_ = at.Close()
		if err != nil || found != nil {
			return found, false, err
		}
		if n >= ownerEntries {
			return nil, false, nil
		}
	}
	return nil, true, nil
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
	return found, n, queue, err
}
