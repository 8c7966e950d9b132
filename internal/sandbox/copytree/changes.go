package copytree

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Changes compares two states. See engine.Sandbox. It costs a look at every path
// when one of them is the present state, and reads only what changed since the
// last manifest. It writes nothing, so commands may be live.
func (s *Sandbox) Changes(ctx context.Context, from, to string, opts engine.ChangeOptions) (*changeset.Set, changeset.Source, error) {
	set, src, err := s.changes(ctx, from, to, opts)
	if err != nil {
		return nil, nil, edge("compare states", err)
	}
	return set, src, nil
}

func (s *Sandbox) changes(ctx context.Context, from, to string, opts engine.ChangeOptions) (_ *changeset.Set, _ changeset.Source, err error) {
	dir, tree, err := s.openTree(false)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close(), tree.Close())
		}
	}()
	r := s.rec.Resource
	set := &changeset.Set{Resource: r.Name, Root: r.Path, Type: r.Type, Changes: []changeset.Change{}}
	before, err := s.stateNamed(ctx, dir, tree, from, set)
	if err != nil {
		return nil, nil, err
	}
	after, err := s.stateNamed(ctx, dir, tree, to, set)
	if err != nil {
		return nil, nil, err
	}
	creation, err := s.stateNamed(ctx, dir, tree, engine.CheckpointCreation, set)
	if err != nil {
		return nil, nil, err
	}
	set.Skipped = append(set.Skipped, s.notCovered(creation)...)
	s.compare(set, before, after)
	if opts.Ignored != nil && len(set.Changes) > 0 {
		hit, err := opts.Ignored(ctx, changeset.IgnorePaths(set.Changes))
		if err != nil {
			return nil, nil, fmt.Errorf("ask the ignore rules: %w", err)
		}
		kept, ignored := changeset.SplitIgnored(set.Changes, hit, s.isGit())
		set.Changes, set.IgnoredPaths = kept, len(ignored)
		if opts.KeepIgnored {
			set.Ignored = ignored
		}
	}
	changeset.DetectRenames(set)
	set.Sort()
	slices.SortFunc(set.Skipped, func(a, b changeset.Skip) int { return strings.Compare(a.Path, b.Path) })
	set.Skipped = slices.Compact(set.Skipped)
	return set, s.newSource(dir, tree, before, after, from, to, set), nil
}

// stateNamed loads a state, or takes the present one. What of it cannot be read
// is listed in set.
func (s *Sandbox) stateNamed(ctx context.Context, dir, tree *fsop.Dir, name string, set *changeset.Set) (*manifest, error) {
	if name != engine.CheckpointNow {
		id, err := s.st.checkpointNamed(name)
		if err != nil {
			return nil, err
		}
		return loadManifest(dir, id)
	}
	cache, err := loadManifest(dir, s.st.Scan)
	if err != nil {
		return nil, err
	}
	sc := scanner{strat: s.strat, dir: dir, tree: tree, cache: cache, skipGit: s.isGit()}
	m, unreadable, err := sc.scan(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range unreadable {
		if !s.ownGit(u.Path) {
			set.Skipped = append(set.Skipped, u)
		}
	}
	return m, nil
}

// ownGit reports whether a path belongs to the resource's own git directory,
// which is isolated and carried in its own way.
func (s *Sandbox) ownGit(path string) bool { return s.isGit() && underGit(path) }

// notCovered lists what the copy never had.
func (s *Sandbox) notCovered(creation *manifest) []changeset.Skip {
	var out []changeset.Skip
	for _, sk := range creation.skipped {
		if !s.ownGit(sk.Path) {
			out = append(out, sk)
		}
	}
	return out
}

// compare adds to set what differs between two states.
func (s *Sandbox) compare(set *changeset.Set, before, after *manifest) {
	unread := make([]string, 0, len(set.Skipped))
	for _, sk := range set.Skipped {
		unread = append(unread, sk.Path)
	}
	a, b := before.entries, after.entries
	for len(a) > 0 || len(b) > 0 {
		var old, now *entry
		switch {
		case len(b) == 0 || (len(a) > 0 && a[0].path < b[0].path):
			old, a = &a[0], a[1:]
		case len(a) == 0 || b[0].path < a[0].path:
			now, b = &b[0], b[1:]
		default:
			old, now, a, b = &a[0], &b[0], a[1:], b[1:]
		}
		s.pair(set, old, now, unread)
	}
}

// pair compares one path; either side may be nil.
func (s *Sandbox) pair(set *changeset.Set, old, now *entry, unread []string) {
	e := now
	if e == nil {
		e = old
	}
	switch {
	case old != nil && now != nil && old.same(now) && !now.damaged:
		return
	case e.path == ".", s.ownGit(e.path), coveredBy(unread, e.path):
		return
	}
	skip := func(path, reason string) {
		set.Skipped = append(set.Skipped, changeset.Skip{Path: path, Reason: reason})
	}
	if s.isGit() {
		if git, ok := nestedGit(e.path); ok {
			skip(git, "belongs to a repository inside the repository")
			return
		}
	}
	for _, side := range []*entry{now, old} {
		if side != nil && side.kind.Special() {
			skip(side.path, side.kind.String())
			return
		}
	}
	if now != nil && now.damaged {
		skip(now.path, "damaged: its contents changed although nothing wrote to it (a power cut?); restore a checkpoint to mend it")
		return
	}
	c := changeset.Change{Path: e.path, Op: changeset.Modified}
	if old != nil {
		c.Before = old.describe()
	} else {
		c.Op = changeset.Created
	}
	if now != nil {
		c.After = now.describe()
	} else {
		c.Op = changeset.Deleted
	}
	if !c.Before.Same(c.After) {
		set.Changes = append(set.Changes, c)
	}
}

// coveredBy reports whether path is one of those that could not be read, or lies
// below one: nothing can be said about it, least of all that it is gone.
func coveredBy(unread []string, path string) bool {
	for _, u := range unread {
		if path == u || strings.HasPrefix(path, u+"/") {
			return true
		}
	}
	return false
}

// newSource reads contents of the two states; it owns dir and tree.
func (s *Sandbox) newSource(dir, tree *fsop.Dir, before, after *manifest, from, to string, set *changeset.Set) *source {
	src := &source{
		dir: dir, tree: tree, resource: s.rec.Resource.Path, strat: s.strat, rec: s.rec, base: s.st.Base,
		sides: [2]*manifest{before, after}, live: [2]bool{from == engine.CheckpointNow, to == engine.CheckpointNow},
		renamed: map[string]string{},
	}
	for _, c := range set.Changes {
		if c.Op == changeset.Renamed {
			src.renamed[c.Path] = c.From
		}
	}
	// A source that its user forgets would keep descriptors for ever.
	runtime.AddCleanup(src, func(ds [2]*fsop.Dir) { _ = errors.Join(ds[0].Close(), ds[1].Close()) }, [2]*fsop.Dir{dir, tree})
	return src
}
