package tree

import (
	"context"
	"errors"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// readers is how many paths of the target are read at once.
const readers = 8

// item is one path of the changeset on its way to a step.
type item struct {
	path          string
	before, after *changeset.Entry // after: without what is stripped
	now           sight
	verdict
	merged  []byte // with fromMerge
	implied bool   // a folder that the changeset does not name
	keep    bool   // a folder to be removed that must stay
}

// becomes is the kind of what lies there in the end, "" for nothing.
func (it *item) becomes() changeset.Kind {
	if it.result == nil {
		return ""
	}
	return it.result.Kind
}

func (it *item) is() changeset.Kind {
	if !it.now.there {
		return ""
	}
	return entryKind(it.now.info.Kind)
}

// survey looks at the target and decides about every path. It changes nothing.
type survey struct {
	req   engine.TargetRequest
	root  *fsop.Dir
	at    fsop.Info // of the root
	euid  uint32
	rules rules
	items map[string]*item
	paths []string // of items, sorted
	found conflicts
	dirs  map[string]fsop.Info // folders of the target looked at
	wide  map[string]fsop.Info // folders that must be opened for a while
}

// takeItems brings the changeset into the form that is carried out: one item per
// path, renames split, privileges stripped.
func (s *survey) takeItems() error {
	set := changeset.Set{Changes: slices.Clone(s.req.Set.Changes)}
	changeset.SplitRenames(&set)
	s.items = make(map[string]*item, len(set.Changes))
	for i := range set.Changes {
		c := &set.Changes[i]
		if err := fsop.CheckRel(c.Path); err != nil || c.Path == "." {
			return fault.New(fault.Denied, "prepare", "%s is no path inside the resource", changeset.Quote(c.Path)).WithPaths(c.Path).WithCause(err)
		}
		if s.items[c.Path] != nil {
			return fault.New(fault.Invalid, "prepare", "the changeset names %s twice", changeset.Quote(c.Path)).WithPaths(c.Path)
		}
		s.items[c.Path] = &item{path: c.Path, before: c.Before, after: strip(c.After, s.req.AllowSetuid)}
	}
	s.paths = slices.Sorted(maps.Keys(s.items))
	return nil
}

// strip takes privileges off a file: set-user-id, set-group-id, capabilities.
func strip(e *changeset.Entry, allow bool) *changeset.Entry {
	if e == nil || e.Kind != changeset.File || allow {
		return e
	}
	out := *e
	out.Mode &^= 0o6000
	if _, ok := e.Xattrs[capability]; ok {
		out.Xattrs = maps.Clone(e.Xattrs)
		delete(out.Xattrs, capability)
	}
	return &out
}

// look reads every path of the target, some at once.
func (s *survey) look(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, p := range s.paths {
		it := s.items[p]
		g.Go(func() error {
			if err := context.Cause(gctx); err != nil {
				return err
			}
			now, err := study(gctx, s.root, it.path)
			switch {
			case err == nil:
				it.now = now
			case it.before == nil && errors.Is(err, errLink) && s.becomesFolder(it.path): // nothing is there yet
			case fault.Is(err, fault.Denied):
				s.found.add(it.path, reasonOf(err))
			case fault.Is(err, fault.Conflict):
				s.found.add(it.path, fault.As(err).Message)
			default:
				return err
			}
			return nil
		})
	}
	return g.Wait()
}

// becomesFolder reports whether a link on the way to the path is one that the
// plan makes a folder.
func (s *survey) becomesFolder(path string) bool {
	for dir, _ := fsop.SplitRel(path); dir != "."; dir, _ = fsop.SplitRel(dir) {
		if it := s.items[dir]; it != nil && it.before != nil && it.before.Kind == changeset.Symlink {
			return it.after != nil && it.after.Kind == changeset.Dir
		}
	}
	return false
}

// reasonOf words why a path may not be reached.
func reasonOf(err error) string {
	if errors.Is(err, errLink) {
		return "a folder on the way to it is a link"
	}
	if errors.Is(err, errCross) {
		return "it lies on another mount"
	}
	return "it may not be read: permission denied"
}

// decideAll finds what becomes of each path.
func (s *survey) decideAll(ctx context.Context) error {
	drift := map[string]bool{}
	for _, p := range s.req.Set.Drift {
		drift[p] = true
	}
	for _, p := range s.paths {
		it := s.items[p]
		if s.found.has(p) {
			continue
		}
		switch {
		case drift[p]:
			it.verdict = conflict("it changed outside, below the live sandbox, while the plan changed it")
		case it.now.there && it.is() == "":
			it.verdict = conflict("there is a " + it.now.info.Kind.String() + " now")
		default:
			if err := s.onlyLineEnds(ctx, it); err != nil {
				return err
			}
			it.verdict = decide(it.before, it.after, s.present(it), s.rules)
		}
		if it.verdict.conflict == "" && it.source == fromMerge && it.result != nil {
			if err := s.mergeText(ctx, it); err != nil {
				return err
			}
		}
		if it.verdict.conflict != "" {
			s.found.add(p, it.verdict.conflict)
		}
	}
	return nil
}

// present is what lies there now, as a changeset would say it. File capabilities
// that neither side knows of are left out: they do not survive a new content.
func (s *survey) present(it *item) *changeset.Entry {
	e := it.now.entry()
	if e == nil || e.Xattrs[capability] == "" {
		return e
	}
	for _, side := range []*changeset.Entry{it.before, it.after} {
		if side != nil && side.Xattrs[capability] != "" {
			return e
		}
	}
	delete(e.Xattrs, capability)
	return e
}
