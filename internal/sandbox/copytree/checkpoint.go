package copytree

import (
	"context"
	"errors"
	"fmt"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Checkpoint freezes the present state under a name: contents that are not
// stored yet are, then a manifest, then the state names it. A failure at any
// point leaves the sandbox as it was (C132). Exists when the name stands for
// another state.
func (s *Sandbox) Checkpoint(ctx context.Context, name string) error {
	return edge("checkpoint sandbox", s.checkpoint(ctx, name))
}

func (s *Sandbox) checkpoint(ctx context.Context, name string) (err error) {
	if name == "" || name == engine.CheckpointNow {
		return fault.New(fault.Invalid, "", "%q is no name for a checkpoint", name)
	}
	dir, tree, err := s.openTree(true)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer tree.Close()
	cache, err := loadManifest(dir, s.st.Scan)
	if err != nil {
		return err
	}
	sc := scanner{strat: s.strat, dir: dir, tree: tree, cache: cache, force: true}
	now, unreadable, err := sc.scan(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.close()) }()
	if len(unreadable) > 0 {
		var paths []string
		for _, u := range unreadable {
			paths = append(paths, u.Path)
		}
		return fault.New(fault.Denied, "", "%d paths cannot be read, so no exact state can be kept", len(paths)).WithPaths(paths...).
			WithHint("they belong to another user; change their owner inside the sandbox, or remove them there")
	}
	if id, err := s.st.checkpointNamed(name); err == nil {
		return s.isStill(dir, name, id, now)
	}
	if err := s.strat.storeContents(ctx, dir, tree, now, func(*entry) bool { return true }); err != nil {
		return err
	}
	next := s.st.clone()
	if next.Scan, err = s.keepManifest(dir, next, now, cache); err != nil {
		return err
	}
	next.Checkpoints = append(next.Checkpoints, checkpoint{Name: name, Manifest: next.Scan})
	if err := errors.Join(dir.SyncDir(objectsDir), next.save(dir)); err != nil {
		return err
	}
	s.st = next
	return dropManifests(dir, next)
}

// isStill accepts a name that already stands for the present state.
func (s *Sandbox) isStill(dir *fsop.Dir, name, id string, now *manifest) error {
	old, err := loadManifest(dir, id)
	if err != nil {
		return err
	}
	if !now.same(old) {
		return fault.New(fault.Exists, "", "the checkpoint %q is another state", name).
			WithPaths(differences(now, old)...).WithHint("choose another name")
	}
	return nil
}

// keepManifest saves a manifest, or names the one that says the same already.
func (s *Sandbox) keepManifest(dir *fsop.Dir, next *state, now, cache *manifest) (string, error) {
	if now.identical(cache) {
		return s.st.Scan, nil
	}
	name, err := saveManifest(dir, next, now)
	if err != nil {
		return "", fmt.Errorf("keep the state: %w", err)
	}
	return name, nil
}

// Checkpoints lists names, oldest first.
func (s *Sandbox) Checkpoints(context.Context) ([]string, error) {
	out := make([]string, 0, len(s.st.Checkpoints))
	for _, c := range s.st.Checkpoints {
		out = append(out, c.Name)
	}
	return out, nil
}
