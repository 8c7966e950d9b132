package git

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// checkBranch finds the branch that ToCommit moves and everything that speaks
// against moving it.
func (j *job) checkBranch(ctx context.Context, req engine.TargetRequest, head gitx.Head) error {
	const hint = "apply to a branch of its own instead: --to branch"
	// First, since a rebase detaches HEAD: to switch would be the wrong advice.
	if err := j.underWay(); err != nil {
		return err
	}
	if head.Branch == "" { // C42, O42
		return fault.New(fault.Conflict, "apply", "HEAD of %s is detached: there is no branch to commit to", j.Location.WorkTree).
			WithHint("switch to a branch (git switch NAME), or %s", hint)
	}
	if was := req.Resource.Git.Branch; was != "" && was != head.Branch { // C20
		return fault.New(fault.Conflict, "apply", "the plan was made on %s, but %s is checked out now", short(was), short(head.Branch)).
			WithHint("switch back (git switch %s), or %s", short(was), hint)
	}
	j.Ref, j.Old = head.Branch, head.Commit
	return j.checkElsewhere(ctx, "")
}

// underWay refuses a checkout in which the person is in the middle of something
// that git keeps in the git directory.
func (j *job) underWay() error {
	for _, x := range []struct{ file, what, command string }{
		{"rebase-merge", "rebase", "rebase"},
		{"rebase-apply", "rebase or am", "rebase"},
		{"MERGE_HEAD", "merge", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick", "cherry-pick"},
		{"REVERT_HEAD", "revert", "revert"},
	} {
		if _, err := os.Lstat(filepath.Join(j.Location.GitDir, x.file)); err == nil {
			return fault.New(fault.Conflict, "apply", "a %s is under way in %s", x.what, j.Location.WorkTree).
				WithHint("finish it (git %s --continue) or abort it (--abort) and apply again, or apply to a branch of its own: --to branch", x.command)
		}
	}
	return nil
}

// checkNewBranch validates the name that ToBranch publishes.
func (j *job) checkNewBranch(ctx context.Context, req engine.TargetRequest) error {
	full, err := j.repo.CheckBranch(ctx, req.Branch)
	if err != nil {
		return err
	}
	j.Ref = full
	if j.Old, err = j.repo.RefValue(ctx, full); err != nil {
		return err
	}
	if j.Old == "" {
		return nil
	}
	// The branch that a git_worktree sandbox holds for its plan may be published
	// over, as long as it still stands where the plan began.
	own := full == "refs/heads/ambit/"+req.Plan
	base := req.Resource.Git.Head
	if req.History != nil {
		base = req.History.RealBase
	}
	if own && j.Old == base {
		return j.checkElsewhere(ctx, j.planDir())
	}
	return fault.New(fault.Exists, "apply", "there is a branch %s already", req.Branch).
		WithHint("choose another name with --branch")
}

// checkElsewhere refuses to move a branch under another checkout. Checkouts
// below own, the plan's folder, do not count.
func (j *job) checkElsewhere(ctx context.Context, own string) error {
	list, err := j.repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Branch != j.Ref || w.Prunable || w.Path == j.Location.WorkTree || sameDir(w.Path, j.Location.WorkTree) {
			continue
		}
		if rel, err := filepath.Rel(own, w.Path); own != "" && err == nil && filepath.IsLocal(rel) {
			continue
		}
		return fault.New(fault.Conflict, "apply", "branch %s is checked out in %s as well", short(j.Ref), w.Path).
			WithHint("switch that checkout to another branch, or apply to a new branch: --to branch --branch NAME")
	}
	return nil
}

// planDir is the plan's own folder, above the request's; "" when it has none.
func (j *job) planDir() string {
	for dir := j.Dir; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if filepath.Base(dir) == j.Plan {
			return dir
		}
	}
	return ""
}

func sameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func short(ref string) string {
	const heads = "refs/heads/"
	if len(ref) > len(heads) && ref[:len(heads)] == heads {
		return ref[len(heads):]
	}
	return ref
}
