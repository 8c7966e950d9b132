package changeset

import (
	"path"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ambit-run/ambit/fault"
)

// Selection picks changes. Empty, it picks all of them.
type Selection struct {
	// Only are doublestar globs over whole paths. One without a slash matches
	// base names at every depth, as in ignore files.
	Only []string
	// Paths are exact paths; a folder stands for everything below it.
	Paths []string
}

// Selected is what Select found.
type Selected struct {
	Picked *Set // the chosen changes, with what they cannot do without
	Rest   *Set // what stays, a state of its own
	// Along are the paths that were not asked for but had to come: folders in
	// which a chosen path lies, contents of a folder that goes.
	Along []string
	// Unmatched are the globs and paths that matched nothing in this set.
	Unmatched []string
}

// Select splits a set. A rename counts as one change, picked by either of its
// paths. Both halves can be carried out one after the other: a path comes with
// the folders it needs, a folder that goes or becomes something else comes with
// all that was below it. A malformed glob is invalid.
func Select(s *Set, sel Selection) (*Selected, error) {
	for _, g := range sel.Only {
		if !doublestar.ValidatePattern(g) {
			return nil, fault.New(fault.Invalid, "select changes", "%s is no valid glob", Quote(g)).
				WithHint("patterns: *, ?, [a-z], {a,b}, ** for any depth")
		}
	}
	n := len(s.Changes)
	chosen := make([]bool, n)
	used := make([]bool, len(sel.Only)+len(sel.Paths))
	all := len(sel.Only)+len(sel.Paths) == 0
	for i := range s.Changes {
		c := &s.Changes[i]
		chosen[i] = all
		for j, g := range sel.Only {
			if globs(g, c.Path) || c.From != "" && globs(g, c.From) {
				chosen[i], used[j] = true, true
			}
		}
		for j, p := range sel.Paths {
			p = strings.TrimSuffix(path.Clean(p), "/")
			if p == "." {
				p = ""
			}
			if within(c.Path, p) || c.From != "" && within(c.From, p) {
				chosen[i], used[len(sel.Only)+j] = true, true
			}
		}
	}
	out := &Selected{Picked: s.like(), Rest: s.like()}
	out.Along = complete(s, chosen)
	for i := range s.Changes {
		if chosen[i] {
			out.Picked.Changes = append(out.Picked.Changes, s.Changes[i])
		} else {
			out.Rest.Changes = append(out.Rest.Changes, s.Changes[i])
		}
	}
	for j, ok := range used {
		if !ok {
			if j < len(sel.Only) {
				out.Unmatched = append(out.Unmatched, sel.Only[j])
			} else {
				out.Unmatched = append(out.Unmatched, sel.Paths[j-len(sel.Only)])
			}
		}
	}
	return out, nil
}

// like returns an empty set of the same resource, with the same remarks.
func (s *Set) like() *Set {
	c := *s
	c.Changes = nil
	return &c
}

func globs(pattern, p string) bool {
	if pattern == p {
		return true // bytes that are no UTF-8 compare exactly
	}
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	ok, err := doublestar.Match(pattern, p)
	return err == nil && ok
}

// complete chooses what the chosen changes cannot do without, until nothing more
// is needed, and names it.
func complete(s *Set, chosen []bool) []string {
	byPath := make(map[string]int, len(s.Changes))
	for i := range s.Changes {
		byPath[s.Changes[i].Path] = i
	}
	type origin struct {
		path string
		i    int
	}
	var old []origin // where the before sides lie, sorted
	for i := range s.Changes {
		if c := &s.Changes[i]; c.Before != nil {
			old = append(old, origin{c.oldPath(), i})
		}
	}
	sort.Slice(old, func(a, b int) bool { return old[a].path < old[b].path })
	var along []string
	var queue []int
	for i, ok := range chosen {
		if ok {
			queue = append(queue, i)
		}
	}
	take := func(i int) {
		if !chosen[i] {
			chosen[i] = true
			along = append(along, s.Changes[i].Path)
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		c := &s.Changes[queue[0]]
		queue = queue[1:]
		if c.After != nil { // the folders it will lie in must come to be
			for p := path.Dir(c.Path); p != "." && p != "/"; p = path.Dir(p) {
				if i, ok := byPath[p]; ok && becomesDir(&s.Changes[i]) {
					take(i)
				}
			}
		}
		if ceasesDir(c) { // what lay below must go first
			below := c.Path + "/"
			for at := sort.Search(len(old), func(k int) bool { return old[k].path >= below }); at < len(old) && strings.HasPrefix(old[at].path, below); at++ {
				take(old[at].i)
			}
		}
	}
	return along
}

func becomesDir(c *Change) bool {
	return c.After != nil && c.After.Kind == Dir && (c.Before == nil || c.Before.Kind != Dir)
}

func ceasesDir(c *Change) bool {
	return c.Before != nil && c.Before.Kind == Dir && (c.After == nil || c.After.Kind != Dir)
}
