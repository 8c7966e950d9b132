package engine

import (
	"context"
	"fmt"
)

// keepBases puts what the real resources hold at the paths of an apply into every
// live sandbox that stands on the same tree, this plan's own included, before
// the paths change: so siblings stay on their base, and a plan can be applied
// again after its undo. A sibling that cannot be kept is a notice, since its own
// apply will meet a conflict and lose nothing. It is called when every target has
// found the real resources fit, and before the line that decides. lacks says which
// paths the resources are meant to lack now: only those are kept as missing.
func (e *Engine) keepBases(ctx context.Context, p *Plan, apply string, lacks func(stepChange) bool) ([]string, error) {
	rec, err := readPaths(p.applyPaths(apply))
	if err != nil {
		return nil, err
	}
	var notices []string
	for _, own := range p.Sandboxes {
		chs := rec[own.ID]
		if len(chs) == 0 {
			continue
		}
		paths := make([]KeepPath, 0, len(chs))
		for _, ch := range chs {
			paths = append(paths, KeepPath{Path: string(ch.Path), Absent: lacks(ch)})
		}
		plans, err := e.deps.Store.FindPlans(ctx, PlanQuery{Covers: own.Resource.Path})
		if err != nil {
			return nil, err
		}
		for _, q := range plans {
			if q.Status == PlanDiscarded || q.Status == PlanStaging {
				continue
			}
			for _, other := range q.Sandboxes {
				if other.Resource.Path != own.Resource.Path || other.Status != SandboxReady {
					continue
				}
				if err := e.keepBase(ctx, other, paths); err != nil {
					if q.ID == p.ID {
						return nil, err
					}
					notices = append(notices, fmt.Sprintf("plan %s could not be kept on its base: %v", q.ID, err))
				}
			}
		}
	}
	return notices, nil
}

func (e *Engine) keepBase(ctx context.Context, rec SandboxRecord, paths []KeepPath) error {
	sb, err := e.attach(ctx, rec)
	if err != nil {
		return err
	}
	if k, ok := sb.(Keeper); ok {
		return k.Keep(ctx, paths)
	}
	return nil
}
