package changeset

import "sort"

// Order returns the changes as a reviewer should read them: flagged ones by
// gravity, then code, tests, lock files, generated files, each by path. A
// dependency manifest alone does not lift a lock file. The input stays as it is.
func Order(changes []Change) []Change {
	out := append([]Change(nil), changes...)
	sort.SliceStable(out, func(i, j int) bool {
		a, b := weight(&out[i]), weight(&out[j])
		if a != b {
			return a < b
		}
		return out[i].Path < out[j].Path
	})
	return out
}

func weight(c *Change) int {
	cls := Classify(c.Path)
	for _, f := range c.Flags { // gravest first
		if f == FlagManifest && cls == ClassLock {
			continue
		}
		return rank(f)
	}
	return len(Flags()) + 1 + int(cls)
}
