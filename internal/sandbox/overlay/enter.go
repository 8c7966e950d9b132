package overlay

import (
	"context"

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
	if err := s.checkLower(); err != nil {
		return engine.Entrance{}, fault.Wrap("", "enter sandbox", err)
	}
	if err := s.refreshMask(ctx); err != nil {
		return engine.Entrance{}, fault.Wrap("", "enter sandbox", err)
	}
	e := engine.Entrance{Root: s.st.Tree.Target}
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
	}
	for _, r := range s.refs(s.st.Layers, v, upper) {
		m.Lower = append(m.Lower, r.Path)
	}
	return m
}
