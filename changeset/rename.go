package changeset

import "sort"

// DetectRenames turns a deletion and a creation of the same contents into one
// rename. Only exact, non-empty contents count, and only where one deleted and
// one created file hold them: with more candidates the pairing would be a guess,
// so they stay as they are. Deterministic; calling it again changes nothing.
//
// A rename keeps both entries, so modes and attributes may differ on the way.
func DetectRenames(s *Set) {
	type pair struct{ from, to, deleted, created int }
	type key struct {
		hash string
		size int64
	}
	pairs := map[key]*pair{}
	at := func(e *Entry) *pair {
		k := key{e.Hash, e.Size}
		if pairs[k] == nil {
			pairs[k] = &pair{}
		}
		return pairs[k]
	}
	for i := range s.Changes {
		switch c := &s.Changes[i]; {
		case c.Op == Deleted && movable(c.Before):
			p := at(c.Before)
			p.from = i
			p.deleted++
		case c.Op == Created && movable(c.After):
			p := at(c.After)
			p.to = i
			p.created++
		}
	}
	gone := map[int]bool{}
	for _, p := range pairs {
		if p.deleted != 1 || p.created != 1 {
			continue
		}
		from, to := &s.Changes[p.from], &s.Changes[p.to]
		to.Op, to.From, to.Before = Renamed, from.Path, from.Before
		to.Steps = union(from.Steps, to.Steps)
		to.Added, to.Removed = 0, 0
		gone[p.from] = true
	}
	if len(gone) == 0 {
		return
	}
	kept := make([]Change, 0, len(s.Changes)-len(gone))
	for i := range s.Changes {
		if !gone[i] {
			kept = append(kept, s.Changes[i])
		}
	}
	s.Changes = kept
	s.Sort()
}

// movable reports whether an entry can be recognised by its contents.
func movable(e *Entry) bool { return e != nil && e.Kind == File && e.Size > 0 && e.Hash != "" }

// SplitRenames turns every rename back into a deletion and a creation, which is
// what is carried out. Flags and counts of the rename go with the creation.
func SplitRenames(s *Set) {
	n := len(s.Changes)
	for i := range n {
		c := &s.Changes[i]
		if c.Op != Renamed {
			continue
		}
		s.Changes = append(s.Changes, Change{Path: c.From, Op: Deleted, Before: c.Before, Binary: c.Binary, Steps: c.Steps})
		c = &s.Changes[i] // the slice may have moved
		c.Op, c.From, c.Before = Created, "", nil
	}
	if len(s.Changes) != n {
		s.Sort()
	}
}

// union joins two lists of step ids, keeping order and dropping repeats.
func union(a, b []string) []string {
	out := append([]string(nil), a...)
	for _, x := range b {
		seen := false
		for _, y := range out {
			seen = seen || x == y
		}
		if !seen {
			out = append(out, x)
		}
	}
	return out
}

// sortedKeys returns a map's keys in byte order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
