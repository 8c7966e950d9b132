package engine

import (
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

// selector picks changes over all resources of a plan: globs relative to each
// resource, and files or folders as the person names them from where they stand.
type selector struct {
	globs []string
	paths []string // absolute, clean
	hit   map[string]bool
}

func newSelector(req ReviewRequest) *selector {
	s := &selector{globs: req.Only, hit: map[string]bool{}}
	for _, f := range req.Paths {
		if !filepath.IsAbs(f) {
			f = filepath.Join(req.Dir, f)
		}
		s.paths = append(s.paths, filepath.Clean(f))
	}
	return s
}

// pick splits the set of one resource and returns what is selected and how many
// changes are left.
func (s *selector) pick(r Resource, set *changeset.Set) (*changeset.Set, int, error) {
	if len(s.globs)+len(s.paths) == 0 {
		return set, 0, nil
	}
	sel := changeset.Selection{Only: s.globs}
	asked := map[string]string{} // relative path → as asked
	for _, abs := range s.paths {
		for _, root := range []string{r.Path, r.Spelled} {
			if root != "" && within(root, abs) {
				rel := strings.TrimPrefix(strings.TrimPrefix(abs, root), "/")
				if rel == "" {
					rel = "."
				}
				sel.Paths = append(sel.Paths, rel)
				asked[rel] = abs
				break
			}
		}
	}
	if len(sel.Only)+len(sel.Paths) == 0 { // only paths of other resources were named
		return &changeset.Set{Resource: set.Resource, Root: set.Root, Type: set.Type}, len(set.Changes), nil
	}
	got, err := changeset.Select(set, sel)
	if err != nil {
		return nil, 0, err
	}
	missed := map[string]bool{}
	for _, u := range got.Unmatched {
		missed[u] = true
	}
	for _, g := range sel.Only {
		s.hit[g] = s.hit[g] || !missed[g]
	}
	for _, p := range sel.Paths {
		s.hit[asked[p]] = s.hit[asked[p]] || !missed[p]
	}
	return got.Picked, len(got.Rest.Changes), nil
}

// unmatched is an error naming what selected nothing: a typo must not apply less
// than was meant without a word.
func (s *selector) unmatched() error {
	var lost []string
	for _, g := range append(append([]string(nil), s.globs...), s.paths...) {
		if !s.hit[g] {
			lost = append(lost, g)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fault.New(fault.NotFound, "select", "no change matches %s", strings.Join(lost, ", ")).
		WithHint("`ambit diff --name-only` lists what changed")
}
