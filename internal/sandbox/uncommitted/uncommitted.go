package uncommitted

import (
	"context"
	"fmt"
	"slices"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// maxPaths bounds how many paths a refusal names.
const maxPaths = 20

// Refuse is the refusal of a checkout with uncommitted work, code conflict; nil if
// there is none.
func Refuse(path string, d gitx.Dirty) error {
	if d.Clean() {
		return nil
	}
	paths := d.Paths()
	slices.Sort(paths)
	return fault.New(fault.Conflict, "", "%s has uncommitted work", path).WithPaths(paths[:min(maxPaths, len(paths))]...).
		WithHint("commit or stash it, or let it go along (--dirty=carry) or stay behind (--dirty=hide)")
}

// Look returns the uncommitted work of a checkout; none where git or a commit to
// compare with is missing, which others say.
func Look(ctx context.Context, git *gitx.Git, req engine.CreateRequest) (gitx.Dirty, error) {
	var none gitx.Dirty
	g := req.Resource.Git
	if git == nil || g == nil {
		return none, nil
	}
	repo, err := git.Repo(gitx.Location{GitDir: g.GitDir, CommonDir: g.CommonDir, WorkTree: req.Resource.Path})
	if err != nil {
		return none, err
	}
	head, err := repo.Head(ctx)
	if err != nil || head.Commit == "" {
		return none, err
	}
	plain, err := repo.Plain(ctx)
	if err != nil {
		return none, err
	}
	d, err := plain.Dirty(ctx, head.Commit)
	if err != nil {
		return none, fmt.Errorf("look for uncommitted work: %w", err)
	}
	return d, nil
}

// Check is Refuse for a request, nil if it does not ask for that.
func Check(ctx context.Context, git *gitx.Git, req engine.CreateRequest) error {
	if req.Dirty != engine.DirtyRefuse {
		return nil
	}
	d, err := Look(ctx, git, req)
	if err != nil {
		return err
	}
	return Refuse(req.Resource.Path, d)
}
