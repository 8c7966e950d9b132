package overlay

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Enter says what must be mounted: the tree at the resource's own path, the
// common git directory at its own where that is another mount, object
// directories that the repository borrows from, read-only. Paths of layers are
// host paths as they are before any of these mounts. With a frozen lower the
// mask is brought up to date first, so that files the person made meanwhile do
// not shine through.
func (s *Sandbox) Enter(ctx context.Context) (engine.Entrance, error) {
	if err := s.usable(ctx); err != nil {
		return engine.Entrance{}, fault.Wrap("", "enter sandbox", err)
	}
	if err := s.refreshMask(ctx); err != nil {
		return engine.Entrance{}, fault.Wrap("", "enter sandbox", err)
	}
	e := engine.Entrance{Root: s.st.Tree.Target, ReadOnly: s.st.Resource.ReadOnly}
	e.Mounts = append(e.Mounts, s.mount(&s.st.Tree, partUpper, partWork))
	if s.st.Git != nil {
		e.Mounts = append(e.Mounts, s.mount(s.st.Git, partGitUpper, partGitWork))
	}
	for _, path := range s.st.Alternates {
		e.Mounts = append(e.Mounts, engine.Mount{Kind: engine.MountBind, Source: path, Target: path, ReadOnly: true})
	}
	return e, nil
}

func (s *Sandbox) mount(v *volume, upper, work string) engine.Mount {
	m := engine.Mount{
		Kind: engine.MountOverlay, Target: v.Target, Aliases: v.Aliases,
		Upper: s.part(s.st.Upper, upper), Work: s.part(s.st.Upper, work),
		ReadOnly: s.st.Resource.ReadOnly,
	}
	for _, r := range s.refs(s.st.Layers, v, upper) {
		m.Lower = append(m.Lower, r.Path)
	}
	return m
}

// usable verifies that what the sandbox stands on is there: the person's
// directories are the ones it was made over, the base exists. A base that
// somebody removed is made again, since its commit says what it was.
func (s *Sandbox) usable(ctx context.Context) error {
	if s.st.Destroying {
		return fault.New(fault.Conflict, "", "sandbox %s is being removed", s.st.ID).WithHint("remove it again to finish that")
	}
	if err := s.checkLower(); err != nil {
		return err
	}
	tree := s.bottomPath(layerBase)
	if tree == "" {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(tree), baseRecord)); err == nil {
		return nil
	}
	bases, err := s.strat.openBases(ctx, s.basesDir, s.st.Resource, s.st.CreatedAt)
	if err != nil {
		return err
	}
	at, _, err := bases.claim(ctx, s.st.Base, s.dirPath, nil)
	if err != nil {
		return err
	}
	if now := filepath.Join(at, baseTree); now != tree {
		return fault.New(fault.IdentityChanged, "", "the base of the sandbox was %s and would now be %s", tree, now).
			WithHint("the state folder was moved; move it back, or discard the plan")
	}
	return nil
}
