package tree

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Where slots lie inside the target they must not stay after the apply, and with
// them would go what was displaced into them. So that is copied into the plan's
// folder beforehand, durably, and back into fresh slots for an undo.

// keepPre copies what every remove and swap will displace into dir/pre.
func keepPre(ctx context.Context, root, dir *fsop.Dir, steps []step) error {
	if err := dir.Mkdir(preName, 0o700); err != nil {
		return err
	}
	pre, err := dir.OpenDir(preName)
	if err != nil {
		return err
	}
	defer pre.Close()
	err = eachDisplaced(ctx, pre, steps, func(ctx context.Context, st *step) error {
		lost, err := copyObject(ctx, root, string(st.Path), pre, st.Slot, st.Old)
		if err == nil && len(lost) > 0 {
			err = fault.New(fault.Denied, "prepare", "%s has %s, which an undo could not restore", changeset.Quote(string(st.Path)), strings.Join(lost, ", ")).
				WithPaths(string(st.Path)).WithHint("leave the path out with --only, or keep ambit's state folder on the same file system")
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := pre.Sync(); err != nil {
		return err
	}
	return dir.Sync()
}

// restage copies the pre-images from dir/pre into slots.
func restage(ctx context.Context, dir, slots *fsop.Dir, steps []step) error {
	pre, err := dir.OpenDir(preName)
	if err != nil {
		return err
	}
	defer pre.Close()
	err = eachDisplaced(ctx, slots, steps, func(ctx context.Context, st *step) error {
		part := st.Slot + ".part" // a slot is empty or whole
		if _, err := copyObject(ctx, pre, st.Slot, slots, part, st.Old); err != nil {
			return err
		}
		return slots.Rename(part, slots, st.Slot)
	})
	if err != nil {
		return err
	}
	return slots.Sync()
}

func eachDisplaced(ctx context.Context, to *fsop.Dir, steps []step, f func(context.Context, *step) error) error {
	n, err := syncersOn(to)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(n)
	for i := range steps {
		if st := &steps[i]; st.Old != nil {
			g.Go(func() error {
				if err := context.Cause(gctx); err != nil {
					return err
				}
				return f(gctx, st)
			})
		}
	}
	return g.Wait()
}

// copyObject copies one object, a folder without what it holds, and sees to it
// that the copy is what was recorded.
func copyObject(ctx context.Context, from *fsop.Dir, path string, to *fsop.Dir, slot string, id *ident) (lost []string, err error) {
	changed := fault.New(fault.Conflict, "copy", "%s changed meanwhile", changeset.Quote(path)).WithPaths(path)
	switch id.Kind {
	case changeset.File:
		res, err := fsop.CopyFile(ctx, from, path, to, slot, fsop.CopyOptions{Hash: true, Sync: true, Replace: true})
		if err == nil && res.SHA256 != id.Hash {
			err = changed
		}
		return res.Lost, err
	case changeset.Symlink:
		seen, err := glance(from, path)
		if err != nil {
			return nil, err
		}
		if !seen.there || exact(seen.link) != id.Link {
			return nil, changed
		}
		if err := to.RemoveAll(slot); err != nil {
			return nil, err
		}
		if err := to.Symlink(seen.link, slot); err != nil {
			return nil, err
		}
		switch err := to.Chown(slot, int(seen.info.UID), int(seen.info.GID)); {
		case fault.Is(err, fault.Denied):
			lost = append(lost, "an owner")
		case err != nil:
			return nil, err
		}
		return lost, to.Chtimes(slot, seen.info.Mtime)
	case changeset.Dir:
		none := func(string, fsop.Info) bool { return true }
		if err := to.RemoveAll(slot); err != nil {
			return nil, err
		}
		stats, err := fsop.CopyTree(ctx, from, path, to, slot, fsop.TreeOptions{Exclude: none, Workers: 1, CopyOptions: fsop.CopyOptions{Sync: true}})
		for _, l := range stats.Lost {
			lost = append(lost, l.Reason)
		}
		return lost, err
	}
	return nil, fault.New(fault.Internal, "copy", "no kind %q", id.Kind)
}
