package git

import (
	"context"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// replay merges each commit of the plan onto the present tip.
func (r *result) replay(ctx context.Context) error {
	h := r.req.History
	ids, err := r.view.FirstParents(ctx, h.Base, h.Tip)
	if err != nil {
		return fault.Wrap(fault.Conflict, "follow the plan's commits", err).
			WithHint("--squash makes one commit of them")
	}
	commits, err := r.view.Commits(ctx, ids)
	if err != nil {
		return err
	}
	before, err := r.tree(ctx, h.Base)
	if err != nil {
		return err
	}
	tipTree, err := r.tree(ctx, r.onto)
	if err != nil {
		return err
	}
	tip := r.onto
	committer, err := r.committer(ctx)
	if err != nil {
		return err
	}
	for _, c := range commits {
		m, err := r.view.MergeTrees(ctx, before, tipTree, c.Tree)
		if err != nil {
			return err
		}
		if len(m.Conflicts) > 0 {
			return r.collision(ctx, m.Conflicts, subject(c.Message))
		}
		if m.Tree == tipTree && c.Tree != before {
			before = c.Tree // the branch holds this change already
			continue
		}
		before, tipTree = c.Tree, m.Tree
		c.Tree, c.Parents, c.Committer = m.Tree, parents(tip), committer
		if tip, err = r.view.WriteCommit(ctx, c); err != nil {
			return err
		}
	}
	r.tip = tip
	return nil
}

// collision names every path that stands in the way, not only those of the first
// commit that met one (O41).
func (r *result) collision(ctx context.Context, paths []string, where string) error {
	h := r.req.History
	if base, ours, theirs, err := r.three(ctx, h.Base, r.onto, h.Tip); err == nil {
		if m, err := r.view.MergeTrees(ctx, base, ours, theirs); err == nil {
			if len(m.Conflicts) == 0 {
				return conflict(paths, "%q collides with what the branch holds on the way, though not in the end", where).
					WithHint("--squash applies the plan as one commit")
			}
			paths = append(paths, m.Conflicts...)
		}
	}
	slices.Sort(paths)
	return r.standsOn(ctx, slices.Compact(paths))
}

// commitFirst is what helps where a commit would need uncommitted work below it.
const commitFirst = "commit that work and apply again, or carry only the files: --to worktree"

// standsOn says why paths collide: the branch has moved on there, or it has not,
// and what the plan changed is the person's uncommitted work, which was carried
// into the sandbox and is never published.
func (r *result) standsOn(ctx context.Context, paths []string) error {
	h := r.req.History
	real, ours, carried, err := r.three(ctx, h.RealBase, r.onto, h.Base)
	if err != nil {
		return err
	}
	between := func(to string) (map[string]bool, error) {
		diffs, err := r.view.DiffTrees(ctx, real, to)
		set := make(map[string]bool, len(diffs))
		for _, d := range diffs {
			set[d.Path] = true
		}
		return set, err
	}
	moved, err := between(ours)
	if err != nil {
		return err
	}
	dirty, err := between(carried)
	if err != nil {
		return err
	}
	own := 0
	for _, p := range paths {
		if dirty[p] && !moved[p] {
			own++
		}
	}
	switch both := len(paths) - own; {
	case own == 0:
		return conflict(paths, "the branch moved on and %d of the plan's paths changed on both sides", both)
	case both == 0:
		return conflict(paths, "at %d paths the plan builds on your uncommitted work, and its commits cannot hold the one without the other", own).WithHint("%s", commitFirst)
	default:
		return conflict(paths, "the branch moved on and %d of the plan's paths changed on both sides; at %d paths the plan builds on your uncommitted work", both, own).WithHint("%s", commitFirst)
	}
}

func (r *result) three(ctx context.Context, base, ours, theirs string) (b, o, t string, err error) {
	if b, err = r.tree(ctx, base); err != nil {
		return
	}
	if o, err = r.tree(ctx, ours); err != nil {
		return
	}
	t, err = r.tree(ctx, theirs)
	return
}

// squash makes one commit of all that the plan changed.
func (r *result) squash(ctx context.Context) error {
	h := r.req.History
	base, ours, theirs, err := r.three(ctx, h.Base, r.onto, h.Tip)
	if err != nil {
		return err
	}
	m, err := r.view.MergeTrees(ctx, base, ours, theirs)
	if err != nil {
		return err
	}
	if len(m.Conflicts) > 0 {
		return r.standsOn(ctx, m.Conflicts)
	}
	steps, err := r.steps(ctx)
	if err != nil {
		return err
	}
	return r.commit(ctx, m.Tree, steps)
}

// steps collects the Ambit-Step trailers of the commits that are squashed.
func (r *result) steps(ctx context.Context) ([]string, error) {
	h := r.req.History
	values := []string{h.Tip}
	if h.Base != "" {
		values = append(values, "^"+h.Base)
	}
	out, err := r.view.Output(ctx, gitx.Opts{Values: values}, "rev-list", "--reverse", "--topo-order")
	if err != nil || out == "" {
		return nil, err
	}
	commits, err := r.view.Commits(ctx, strings.Split(out, "\n"))
	if err != nil {
		return nil, err
	}
	var steps []string
	for _, c := range commits {
		for line := range strings.SplitSeq(c.Message, "\n") {
			if strings.HasPrefix(line, "Ambit-Step: ") && !slices.Contains(steps, line) {
				steps = append(steps, line)
			}
		}
	}
	return steps, nil
}
