package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// registration is what a sandbox has in the real repository.
type registration struct {
	repo      *gitx.Repo
	plan, id  string
	path      string // of the checkout
	confined  bool
	pin, base string
	branch    string // full name; chosen by make
}

func (f *filler) registration(r engine.Resource, plan, id, dir, base string, confined bool) (*registration, error) {
	repo, err := f.open(r)
	if err != nil {
		return nil, err
	}
	return &registration{
		repo: repo, plan: plan, id: id, path: filepath.Join(dir, treeDir), confined: confined,
		pin: pinName(plan, id), base: base, branch: branchName(plan),
	}, nil
}

// make registers the sandbox. The pin comes into being together with the branch,
// in one transaction, so that a crash never leaves a branch of which nobody knows
// whose it is.
func (r *registration) make(ctx context.Context) error {
	changes := []gitx.RefChange{{Name: r.pin, New: r.base}}
	if r.confined {
		if err := r.chooseBranch(ctx); err != nil {
			return err
		}
		changes = append(changes, gitx.RefChange{Name: r.branch, New: r.base})
	}
	if err := r.repo.UpdateRefs(ctx, "start of plan "+r.plan, changes...); err != nil {
		if fault.Is(err, fault.Conflict) {
			return fault.New(fault.Conflict, "", "the repository has %s already, or a branch in its way", short(r.branch)).
				WithPaths(r.branch).WithCause(err).WithHint("rename that branch, or choose another plan")
		}
		return err
	}
	if !r.confined {
		return nil
	}
	return r.repo.Worktree(ctx, []string{r.path, strings.TrimPrefix(r.branch, "refs/heads/")},
		"add", "--quiet", "--no-checkout", "--lock", "--reason", "ambit plan "+r.plan)
}

// chooseBranch takes ambit/<plan>, or, for a further sandbox of the plan over the
// same repository, a name beside it. Somebody else's branch is an error (C13).
func (r *registration) chooseBranch(ctx context.Context) error {
	refs, err := r.repo.Refs(ctx, r.branch, "refs/heads/ambit", strings.TrimSuffix(r.pin, r.id))
	if err != nil {
		return err
	}
	taken, sibling := "", false
	for _, ref := range refs {
		switch {
		case ref.Name == r.branch, ref.Name == "refs/heads/ambit":
			taken = ref.Name
		case strings.HasPrefix(ref.Name, "refs/ambit/") && ref.Name != r.pin:
			sibling = true
		}
	}
	switch {
	case taken == "":
	case taken == r.branch && sibling:
		r.branch += "-" + r.id
	default:
		return fault.New(fault.Conflict, "", "the repository has a branch %s, and the plan needs %s", short(taken), short(r.branch)).
			WithPaths(taken).WithHint("rename it: git branch -m %s %s-old", short(taken), short(taken))
	}
	return nil
}

// drop takes the registration back, whole or half made. The checkout's folder
// must be gone. Only the worktree at this very path is removed, and only
// references that still hold what was recorded; a branch that somebody moved
// stays. It reports success after it has looked again (C9).
func (r *registration) drop(ctx context.Context) error {
	pin, err := r.repo.RefValue(ctx, r.pin)
	if err != nil {
		return err
	}
	branch, found, err := r.find(ctx)
	if err != nil {
		return err
	}
	if found {
		// Unlocking what is not locked fails; that it is unlocked is what counts.
		unlockErr := r.repo.Worktree(ctx, []string{r.path}, "unlock")
		if err := r.repo.Worktree(ctx, []string{r.path}, "remove", "--force"); err != nil {
			if unlockErr != nil {
				err = fmt.Errorf("%w (and it could not be unlocked: %w)", err, unlockErr)
			}
			return fault.Wrap("", "remove the worktree", err).
				WithHint("the branch %s is kept; git worktree list shows what is there", short(r.branch))
		}
	}
	if pin == "" && !found {
		return nil // never made, or dropped before: a branch of that name is somebody else's
	}
	changes := []gitx.RefChange{}
	if pin != "" {
		changes = append(changes, gitx.RefChange{Name: r.pin, Old: pin})
	}
	if branch == "" {
		branch, err = r.orphan(ctx, pin)
		if err != nil {
			return err
		}
	}
	if branch != "" && pin != "" {
		now, err := r.repo.RefValue(ctx, branch)
		if err != nil {
			return err
		}
		if now == pin { // else it holds what somebody committed or published there (C2)
			changes = append(changes, gitx.RefChange{Name: branch, Old: now})
		}
	}
	if len(changes) > 0 {
		if err := r.repo.UpdateRefs(ctx, "end of plan "+r.plan, changes...); err != nil {
			return err
		}
	}
	return r.gone(ctx)
}

// find looks for the worktree at the sandbox's path and the branch it is on.
func (r *registration) find(ctx context.Context) (branch string, found bool, err error) {
	list, err := r.repo.Worktrees(ctx)
	if err != nil {
		return "", false, err
	}
	for i, w := range list {
		if i > 0 && w.Path == r.path { // the first is the main checkout, never a target (C22)
			if strings.HasPrefix(w.Branch, "refs/heads/ambit/") {
				branch = w.Branch
			}
			return branch, true, nil
		}
	}
	return "", false, nil
}

// orphan finds the branch of a registration whose worktree was never made: it
// was created together with the pin, which says that it is ours.
func (r *registration) orphan(ctx context.Context, pin string) (string, error) {
	if !r.confined || pin == "" {
		return "", nil
	}
	list, err := r.repo.Worktrees(ctx)
	if err != nil {
		return "", err
	}
	held := map[string]bool{}
	for _, w := range list {
		held[w.Branch] = true
	}
	for _, name := range []string{branchName(r.plan), branchName(r.plan) + "-" + r.id} {
		now, err := r.repo.RefValue(ctx, name)
		if err != nil {
			return "", err
		}
		if now == pin && !held[name] {
			return name, nil
		}
	}
	return "", nil
}

// gone makes sure that nothing is left.
func (r *registration) gone(ctx context.Context) error {
	_, found, err := r.find(ctx)
	if err != nil {
		return err
	}
	pin, err := r.repo.RefValue(ctx, r.pin)
	if err != nil {
		return err
	}
	if found || pin != "" {
		return fault.New(fault.Internal, "remove the worktree", "git reported success, but %s is still registered", r.path)
	}
	return nil
}

// Release takes the registration of a sandbox back whose folder is empty.
func (f *filler) Release(ctx context.Context, rec engine.SandboxRecord, base string) error {
	r, err := f.registration(rec.Resource, rec.Plan, rec.ID, rec.Dir, base, rec.Confined)
	if err != nil {
		return err
	}
	return r.drop(ctx)
}

func short(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }
