package worktree

import (
	"context"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/gitx"
)

// While a sandbox lies in the trash its reference in the real repository would be
// a riddle to the person, for as long as the trash keeps. It goes where the
// repository holds the base without it. Where it does not, the reference is all
// that keeps the commit that the sandbox stands on, and stays.
//
// A linked worktree, which exists only under namespaces, stays registered: its
// entry and branch say in git worktree list what they are.

// Unpin takes the reference of a sandbox without a linked worktree back.
func (f *filler) Unpin(ctx context.Context, rec engine.SandboxRecord) error {
	r, err := f.registration(rec.Resource, rec.Plan, rec.ID, rec.Dir, rec.Base, rec.Confined)
	if err != nil || r.confined {
		return err
	}
	pin, err := r.repo.RefValue(ctx, r.pin)
	if err != nil || pin == "" {
		return err
	}
	held, err := r.heldElsewhere(ctx, pin)
	if err != nil || !held {
		return err
	}
	return r.repo.UpdateRefs(ctx, "discard of plan "+r.plan, gitx.RefChange{Name: r.pin, Old: pin})
}

// Pin makes the reference again. A base that the repository has lost meanwhile is
// an error: git does not let a reference lead to nothing.
func (f *filler) Pin(ctx context.Context, rec engine.SandboxRecord) error {
	r, err := f.registration(rec.Resource, rec.Plan, rec.ID, rec.Dir, rec.Base, rec.Confined)
	if err != nil || r.confined {
		return err
	}
	pin, err := r.repo.RefValue(ctx, r.pin)
	if err != nil || pin != "" {
		return err
	}
	return r.repo.UpdateRefs(ctx, "restore of plan "+r.plan, gitx.RefChange{Name: r.pin, New: r.base})
}

// heldElsewhere reports whether a commit is reached from HEAD or any reference
// that is not ambit's: those go, too.
func (r *registration) heldElsewhere(ctx context.Context, commit string) (bool, error) {
	refs, err := r.repo.Refs(ctx)
	if err != nil {
		return false, err
	}
	var in strings.Builder
	in.WriteString(commit + "\n")
	for _, ref := range refs {
		if !strings.HasPrefix(ref.Name, "refs/ambit/") && !strings.HasPrefix(ref.Name, "refs/heads/ambit/") {
			in.WriteString("^" + ref.Object + "\n")
		}
	}
	head, err := r.repo.Head(ctx)
	if err != nil {
		return false, err
	}
	if head.Commit != "" {
		in.WriteString("^" + head.Commit + "\n")
	}
	plain, err := r.repo.Plain(ctx)
	if err != nil {
		return false, err
	}
	out, err := plain.Output(ctx, gitx.Opts{Stdin: strings.NewReader(in.String())}, "rev-list", "--max-count=1", "--stdin")
	return err == nil && out == "", err
}
