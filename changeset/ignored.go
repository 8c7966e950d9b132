package changeset

import "strings"

// IgnorePaths spells the paths of changes for ignore rules: directories end with
// a slash.
func IgnorePaths(changes []Change) []string {
	out := make([]string, len(changes))
	for i := range changes {
		out[i] = ruled(&changes[i]).IgnorePath()
	}
	return out
}

func ruled(c *Change) Ruled {
	e := c.After
	if e == nil {
		e = c.Before
	}
	return Ruled{Path: c.Path, Dir: e != nil && e.Kind == Dir, New: c.Before == nil, Gone: c.After == nil}
}

// Ruled is one changed path as ignore rules see it.
type Ruled struct {
	Path string
	// Dir says that the path is a directory, or was one before it was removed; New
	// and Gone that nothing was, or is, there.
	Dir, New, Gone bool
}

// IgnorePath spells the path for ignore rules: directories end with a slash.
func (r Ruled) IgnorePath() string {
	if r.Dir {
		return r.Path + "/"
	}
	return r.Path
}

// Ignored tells which of the paths, each directory before what it holds, count as ignored by the
// answer of the resource's rules to their IgnorePaths. With empty set, as in git, a
// directory exists by what it holds: a new one with nothing but ignored things in
// it is ignored, and so is a removed one that held anything ignored, since that is
// not carried and keeps the real directory in place.
func Ignored(paths []Ruled, hit map[string]bool, empty bool) []bool {
	drop := make([]bool, len(paths))
	drops, keeps := map[string]bool{}, map[string]bool{} // by directory
	// A directory sorts before all that it holds, so backwards it comes after.
	for i := len(paths) - 1; i >= 0; i-- {
		r := paths[i]
		drop[i] = hit[r.IgnorePath()] || (empty && r.Dir && drops[r.Path] && (r.Gone || r.New && !keeps[r.Path]))
		if j := strings.LastIndexByte(r.Path, '/'); j >= 0 {
			if parent := r.Path[:j]; drop[i] {
				drops[parent] = true
			} else {
				keeps[parent] = true
			}
		}
	}
	return drop
}

// SplitIgnored separates changes, sorted by path bytes, as Ignored says.
func SplitIgnored(changes []Change, hit map[string]bool, empty bool) (kept, ignored []Change) {
	paths := make([]Ruled, len(changes))
	for i := range changes {
		paths[i] = ruled(&changes[i])
	}
	kept = make([]Change, 0, len(changes))
	for i, drop := range Ignored(paths, hit, empty) {
		if drop {
			ignored = append(ignored, changes[i])
		} else {
			kept = append(kept, changes[i])
		}
	}
	return kept, ignored
}
