package copytree

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
)

// probeGit checks what can be told before anything is made.
func (s *Strategy) probeGit(ctx context.Context, req engine.CreateRequest) []string {
	g := req.Resource.Git
	if g == nil {
		return nil
	}
	switch {
	case s.git == nil:
		return []string{"git is needed for a checkout and is not to be had: install git"}
	case g.Bare:
		return []string{"a bare repository has no files to work on: use a checkout of it"}
	case req.Dirty == engine.DirtyHide && req.Lower != engine.LowerLive:
		return []string{"a copy cannot hide uncommitted work: use overlay or git_worktree, or --dirty=carry"}
	}
	if _, err := s.git.Version(ctx); err != nil {
		return []string{err.Error()}
	}
	common, err := s.openRoot(g.CommonDir)
	if err != nil {
		return []string{err.Error()}
	}
	defer common.Close()
	for _, name := range []string{"config", "refs", "packed-refs", "info", "index"} {
		if info, err := common.Stat(name); err == nil && info.Kind == fsop.KindSymlink {
			return []string{fmt.Sprintf("%s/%s is a link into another repository: use overlay, or a clone", g.CommonDir, name)}
		}
	}
	return nil
}

// measureGit adds what lies outside of the tree.
func (s *Strategy) measureGit(ctx context.Context, g *engine.GitInfo, m *measured) error {
	add := func(dir string) error {
		d, err := s.openRoot(dir)
		if err != nil {
			return err
		}
		defer d.Close()
		more, err := s.measure(ctx, d)
		m.entries, m.bytes, m.apparent, m.more = m.entries+more.entries, m.bytes+more.bytes, m.apparent+more.apparent, m.more || more.more
		return err
	}
	if g.CommonDir != g.GitDir {
		if err := add(g.CommonDir); err != nil {
			return err
		}
	}
	alts, err := alternates(filepath.Join(g.CommonDir, "objects"))
	if err != nil {
		return err
	}
	for _, a := range alts {
		if err := add(a); err != nil {
			return err
		}
	}
	return nil
}
