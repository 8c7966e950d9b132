package overlay

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// gitResource checks what a checkout needs beyond a directory.
func (p *prober) gitResource(ctx context.Context) error {
	r := p.req.Resource
	g := r.Git
	if p.s.git == nil {
		p.miss("%s is a git checkout, and there is no git program: install git", r.Path)
		return nil
	}
	if _, err := p.s.git.Version(ctx); err != nil {
		f := fault.As(err)
		p.miss("%s: %s", f.Error(), f.Hint)
		return nil
	}
	if p.req.Lower == engine.LowerFrozen && g.Head == "" {
		p.miss("the repository has no commit to stand on: commit something, or use the live lower")
	}
	if g.CommonDir != r.Path && inside(g.CommonDir, r.Path) {
		p.miss("the checkout lies inside its own git directory %s: move it out (git worktree move)", g.CommonDir)
	}
	if _, err := placeGit(r, p.req.Lower); err != nil {
		f := fault.As(err)
		p.miss("%s: %s", f.Message, f.Hint)
	}
	switch _, err := os.Lstat(filepath.Join(g.CommonDir, "reftable")); {
	case err == nil:
		p.miss("the repository keeps its references in a reftable, which cannot be frozen as files: use git_worktree or copy_on_write")
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return nil
}
