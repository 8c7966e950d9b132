package changeset

import "strings"

// IgnorePaths spells the paths of changes for ignore rules: directories end with
// a slash.
func IgnorePaths(changes []Change) []string {
	out := make([]string, len(changes))
	for i := range changes {
		out[i] = ignorePath(&changes[i])
	}
	return out
}

func ignorePath(c *Change) string {
	e := c.After
	if e == nil {
		e = c.Before
	}
	if e != nil && e.Kind == Dir {
		return c.Path + "/"
	}
	return c.Path
}

// SplitIgnored separates changes, sorted by path bytes, by the answer of the
// resource's ignore rules to IgnorePaths. With empty set, a directory that is new
// or gone and holds nothing but ignored paths is ignored too, as git sees it.
func SplitIgnored(changes []Change, hit map[string]bool, empty bool) (kept, ignored []Change) {
	drop := make([]bool, len(changes))
	holds, keeps := map[string]bool{}, map[string]bool{}
	// A directory sorts before all that it holds, so backwards it comes after.
	for i := len(changes) - 1; i >= 0; i-- {
		c := &changes[i]
		oneSided := (c.Before == nil && c.After != nil && c.After.Kind == Dir) ||
			(c.After == nil && c.Before != nil && c.Before.Kind == Dir)
		drop[i] = hit[ignorePath(c)] || (empty && oneSided && holds[c.Path] && !keeps[c.Path])
		if j := strings.LastIndexByte(c.Path, '/'); j >= 0 {
			parent := c.Path[:j]
			holds[parent] = true
			if !drop[i] {
				keeps[parent] = true
			}
		}
	}
	kept = make([]Change, 0, len(changes))
	for i := range changes {
		if drop[i] {
			ignored = append(ignored, changes[i])
		} else {
			kept = append(kept, changes[i])
		}
	}
	return kept, ignored
}
