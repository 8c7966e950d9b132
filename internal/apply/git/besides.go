package git

import (
	"context"
	"errors"
	"slices"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// want notes what the plan makes of its own paths as the branch holds them.
func (r *result) want(ctx context.Context, own map[string]gitx.Diff) error {
	have, err := r.tree(ctx, r.onto)
	if err != nil {
		return err
	}
	diffs, err := r.view.DiffTrees(ctx, have, r.planTip)
	if err != nil {
		return err
	}
	r.wants = slices.DeleteFunc(diffs, func(d gitx.Diff) bool {
		_, ok := own[d.Path]
		return !ok
	})
	return nil
}

// besides adds to a conflict with the branch what of the person's own work in the
// checkout stands in the way as well: who mends one kind must not meet the other
// only then.
func (r *result) besides(ctx context.Context, err error) error {
	first := fault.As(err)
	if !r.Checkout || len(r.wants) == 0 || first.Code != fault.Conflict || errors.Is(err, engine.ErrNotReviewed) {
		return err
	}
	if r.openDirs() != nil {
		return err
	}
	r.plan = &plan{}
	staged, dirty, inWay, other := newCheckout(r, r.wants).obstacles(ctx)
	if other == nil {
		known := func(p string) bool { return slices.Contains(first.Paths, p) }
		other = notClean(slices.DeleteFunc(staged, known), slices.DeleteFunc(dirty, known), slices.DeleteFunc(inWay, known))
	}
	if !fault.Is(other, fault.Conflict) {
		return err // it cannot be told: the first reason stands
	}
	second := fault.As(other)
	paths := slices.Concat(first.Paths, second.Paths)
	slices.Sort(paths)
	both := conflict(slices.Compact(paths), "%s; besides, %s", first.Message, second.Message).WithCause(first.Cause)
	hint := second.Hint
	if first.Hint != "" {
		hint = first.Hint + "; " + hint
	}
	return both.WithHint("%s", hint)
}
