package changeset

import "github.com/ambit-run/ambit/fault"

// Merge joins sets that follow one another over the same resource into the one
// that leads from before the first to after the last. What cancels out is gone,
// steps add up, renames are found anew, line counts and flags are left for
// CountLines and Annotate to fill. Where a set does not start from what the one
// before left, the error is a conflict that names the paths.
func Merge(sets ...*Set) (*Set, error) {
	if len(sets) == 0 {
		return &Set{}, nil
	}
	last := sets[len(sets)-1]
	out := *last
	out.Changes, out.Drift, out.Skipped, out.Notices = nil, nil, nil, nil
	joined := map[string]*Change{}
	drift, notices := map[string]bool{}, map[string]bool{}
	skipped := map[Skip]bool{}
	var broken []string
	for _, s := range sets {
		split := Set{Changes: append([]Change(nil), s.Changes...)}
		SplitRenames(&split)
		for i := range split.Changes {
			c := split.Changes[i]
			have, ok := joined[c.Path]
			if !ok {
				joined[c.Path] = &Change{Path: c.Path, Before: c.Before, After: c.After, Steps: union(nil, c.Steps)}
				continue
			}
			if !have.After.Same(c.Before) {
				broken = append(broken, c.Path)
				continue
			}
			have.After = c.After
			have.Steps = union(have.Steps, c.Steps)
		}
		for _, p := range s.Drift {
			drift[p] = true
		}
		for _, n := range s.Notices {
			if !notices[n] {
				notices[n] = true
				out.Notices = append(out.Notices, n)
			}
		}
		for _, k := range s.Skipped {
			if !skipped[k] {
				skipped[k] = true
				out.Skipped = append(out.Skipped, k)
			}
		}
	}
	if len(broken) > 0 {
		return nil, fault.New(fault.Conflict, "merge changesets", "%s changed between two of them", count(len(broken), "path")).WithPaths(broken...)
	}
	for _, p := range sortedKeys(joined) {
		c := joined[p]
		switch {
		case c.Before.Same(c.After):
			continue
		case c.Before == nil:
			c.Op = Created
		case c.After == nil:
			c.Op = Deleted
		default:
			c.Op = Modified
		}
		out.Changes = append(out.Changes, *c)
	}
	out.Drift = sortedKeys(drift)
	if len(out.Drift) == 0 {
		out.Drift = nil
	}
	DetectRenames(&out)
	return &out, nil
}
