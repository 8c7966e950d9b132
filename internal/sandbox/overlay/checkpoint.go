package overlay

import (
	"context"
	"fmt"
	"slices"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Checkpoint freezes the present state under a new name: the layer that was
// written to becomes one more lower, a fresh one is stacked on top. Nothing is
// copied. A layer that nothing was written to is not frozen; the name then
// stands for the layers below it.
func (s *Sandbox) Checkpoint(ctx context.Context, name string) error {
	if err := s.checkpoint(ctx, name); err != nil {
		return fault.Wrap("", "checkpoint", err)
	}
	return nil
}

func (s *Sandbox) checkpoint(ctx context.Context, name string) error {
	if name == "" || name == engine.CheckpointCreation || name == engine.CheckpointNow {
		return fault.New(fault.Invalid, "", "%q cannot name a checkpoint", name).WithHint("choose another name")
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	dir, err := s.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	empty, err := s.upperEmpty(dir)
	if err != nil {
		return err
	}
	for _, c := range s.st.Checkpoints {
		if c.Name != name {
			continue
		}
		if empty && slices.Equal(c.Layers, s.st.Layers) {
			return nil // it names exactly this state: a repetition after a crash
		}
		return fault.New(fault.Exists, "", "a checkpoint called %q exists and is another state", name).
			WithHint("choose another name")
	}
	next := s.clone()
	if !empty {
		next.Layers = append(next.Layers, next.Upper)
		next.Upper = layerName(next.Next)
		next.Next++
		if err := s.newLayer(dir, next.Upper, next.Layers); err != nil {
			return err
		}
	}
	next.Checkpoints = append(next.Checkpoints, checkpoint{Name: name, Layers: slices.Clone(next.Layers)})
	if err := s.become(dir, next); err != nil {
		return err
	}
	return s.squash(ctx, dir)
}

// Checkpoints lists the names that Checkpoint was given, oldest first.
func (s *Sandbox) Checkpoints(context.Context) ([]string, error) {
	var names []string
	for _, c := range s.st.Checkpoints {
		if c.Name != engine.CheckpointCreation {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// Restore makes the present state the named one: its layers under a fresh upper.
// What was written since is dropped, unless a checkpoint holds it.
func (s *Sandbox) Restore(ctx context.Context, name string) error {
	if err := s.restore(ctx, name); err != nil {
		return fault.Wrap("", "restore", err)
	}
	return nil
}

// Rollback returns to the state of creation.
func (s *Sandbox) Rollback(ctx context.Context) error {
	if err := s.restore(ctx, engine.CheckpointCreation); err != nil {
		return fault.Wrap("", "roll back", err)
	}
	return nil
}

func (s *Sandbox) restore(ctx context.Context, name string) error {
	if name == engine.CheckpointNow {
		return nil
	}
	layers, err := s.st.stateLayers(name)
	if err != nil {
		return err
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	dir, err := s.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	empty, err := s.upperEmpty(dir)
	if err != nil {
		return err
	}
	if empty && slices.Equal(layers, s.st.Layers) {
		return nil
	}
	next := s.clone()
	next.Layers = slices.Clone(layers)
	next.Upper = layerName(next.Next)
	next.Next++
	if err := s.newLayer(dir, next.Upper, next.Layers); err != nil {
		return err
	}
	return s.become(dir, next)
}

// become makes a state the true one, durably, and then removes what it does not
// need any more. A crash between the two leaves garbage that the next one takes.
func (s *Sandbox) become(dir *fsop.Dir, next *state) error {
	if err := next.save(dir); err != nil {
		return err
	}
	s.st = next
	return s.sweep(dir)
}

// sweep removes layers that no state names and the work folders of frozen ones.
func (s *Sandbox) sweep(dir *fsop.Dir) error {
	ref := s.st.referenced()
	entries, err := dir.ReadDir(layersDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := layersDir + "/" + e.Name
		switch {
		case !ref[e.Name]:
			if err := dir.RemoveAll(at); err != nil {
				return fmt.Errorf("remove layer %s: %w", e.Name, err)
			}
		case e.Name != s.st.Upper:
			for _, work := range []string{partWork, partGitWork} {
				if err := dir.RemoveAll(at + "/" + work); err != nil {
					return fmt.Errorf("remove work folder of layer %s: %w", e.Name, err)
				}
			}
		}
	}
	return nil
}

// clone copies the parts of the state that a transition changes.
func (s *Sandbox) clone() *state {
	c := *s.st
	c.Layers = slices.Clone(c.Layers)
	c.Checkpoints = slices.Clone(c.Checkpoints)
	return &c
}

// upperEmpty reports whether the present upper changes nothing: no entries, and
// root directories that look like the ones below.
func (s *Sandbox) upperEmpty(dir *fsop.Dir) (bool, error) {
	parts := []string{partUpper}
	if s.st.Git != nil {
		parts = append(parts, partGitUpper)
	}
	for _, part := range parts {
		at := layersDir + "/" + s.st.Upper + "/" + part
		entries, err := dir.ReadDir(at)
		if err != nil {
			return false, err
		}
		if len(entries) > 0 {
			return false, nil
		}
		v := &s.st.Tree
		if part == partGitUpper {
			v = s.st.Git
		}
		alike, err := s.rootsAlike(dir, at, s.rootRef(s.st.Layers, v, part))
		if err != nil || !alike {
			return false, err
		}
	}
	return true, nil
}

func (s *Sandbox) rootsAlike(dir *fsop.Dir, at string, below layerRef) (bool, error) {
	top, err := s.strat.openRoot(below.Path)
	if err != nil {
		return false, err
	}
	defer top.Close()
	a, err := dir.Stat(at)
	if err != nil {
		return false, err
	}
	b, err := top.Stat(".")
	if err != nil {
		return false, err
	}
	mine, err := (&layer{root: dir}).ownXattrs(at)
	if err != nil {
		return false, err
	}
	theirs, err := (&layer{root: top}).ownXattrs(".")
	if err != nil {
		return false, err
	}
	if a.Mode != b.Mode || a.UID != b.UID || a.GID != b.GID || len(mine) != len(theirs) {
		return false, nil
	}
	for k, v := range mine {
		if theirs[k] != v {
			return false, nil
		}
	}
	return true, nil
}
