package copytree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Restore makes the present state equal a named one exactly, by building it
// whole and exchanging the two. Code stale, naming the paths, when contents of
// the creation are neither stored nor in the real resource any more; then, and
// after any other error, the present state is as it was.
func (s *Sandbox) Restore(ctx context.Context, name string) error {
	return edge("restore checkpoint", s.restore(ctx, name))
}

// Rollback returns to the state of creation, with Restore's errors.
func (s *Sandbox) Rollback(ctx context.Context) error {
	return edge("roll back sandbox", s.restore(ctx, engine.CheckpointCreation))
}

func (s *Sandbox) restore(ctx context.Context, name string) error {
	if name == engine.CheckpointNow {
		return nil
	}
	id, err := s.st.checkpointNamed(name)
	if err != nil {
		return err
	}
	dir, tree, err := s.openTree(true)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer tree.Close()
	target, err := loadManifest(dir, id)
	if err != nil {
		return err
	}
	cache, err := loadManifest(dir, s.st.Scan)
	if err != nil {
		return err
	}
	sc := scanner{strat: s.strat, dir: dir, tree: tree, cache: cache, force: true}
	now, unreadable, err := sc.scan(ctx)
	if err != nil {
		return err
	}
	if len(unreadable) == 0 && now.same(target) && sameDirTimes(now, target) {
		return sc.close()
	}
	if err := dir.RemoveAll(buildDir); err != nil { // of an attempt that was cut off
		return errors.Join(fmt.Errorf("clear an unfinished state: %w", err), sc.close())
	}
	fresh, err := s.build(ctx, dir, tree, now, target)
	if err = errors.Join(err, sc.close()); err != nil {
		return errors.Join(err, dir.RemoveAll(buildDir))
	}
	return s.swapIn(dir, fresh)
}

func sameDirTimes(a, b *manifest) bool {
	return slices.EqualFunc(a.entries, b.entries, func(x, y entry) bool { return x.mtime == y.mtime })
}

// swapIn exchanges the tree for the state in build, whose manifest is fresh.
func (s *Sandbox) swapIn(dir *fsop.Dir, fresh *manifest) error {
	next := s.st.clone()
	var err error
	if next.Scan, err = saveManifest(dir, next, fresh); err != nil {
		return errors.Join(err, dir.RemoveAll(buildDir))
	}
	if err := exchange(dir); err != nil {
		return errors.Join(err, dir.RemoveAll(buildDir))
	}
	// The state is restored. That the manifest of the new tree is not recorded
	// yet costs a second reading, if this is where we are cut off.
	if err := next.save(dir); err != nil {
		return err
	}
	s.st = next
	if err := errors.Join(dir.RemoveAll(oldDir), dir.RemoveAll(buildDir), dropManifests(dir, next)); err != nil {
		return fmt.Errorf("the state is restored, but what was there before cannot be removed: %w", err)
	}
	return nil
}

// exchange puts build in the place of tree; what was tree is then in build or
// old. Atomic where the file system can exchange names, else see settle.
func exchange(dir *fsop.Dir) error {
	err := dir.Exchange(buildDir, dir, treeDir)
	switch {
	case err == nil:
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		if err := dir.RemoveAll(oldDir); err != nil {
			return err
		}
		if err := dir.Rename(treeDir, dir, oldDir); err != nil {
			return err
		}
		if err := dir.Rename(buildDir, dir, treeDir); err != nil {
			return errors.Join(err, dir.Rename(oldDir, dir, treeDir))
		}
	default:
		return fmt.Errorf("exchange states: %w", err)
	}
	return dir.Sync()
}
