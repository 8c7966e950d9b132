package tree

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// folder looks at a folder of the target, once.
func (s *survey) folder(path string) (fsop.Info, bool, error) {
	if info, ok := s.dirs[path]; ok {
		return info, info.Kind != fsop.KindUnknown, nil
	}
	info, err := s.root.Stat(path)
	if err != nil && !absent(err) {
		return fsop.Info{}, false, err
	}
	if err != nil {
		info = fsop.Info{}
	}
	s.dirs[path] = info
	return info, err == nil, nil
}

// checkParents sees to it that every path has a folder to lie in. Where the
// resource is a git checkout, folders that nobody names come to be by themselves.
func (s *survey) checkParents() error {
	for _, p := range slices.Clone(s.paths) {
		it := s.items[p]
		if it.becomes() == "" || s.found.has(p) {
			continue
		}
		for i := 0; i < len(p); i++ {
			if p[i] != '/' {
				continue
			}
			why, err := s.checkParent(p[:i])
			if err != nil {
				return err
			}
			if why != "" {
				s.found.add(p, why)
				break
			}
		}
	}
	s.paths = slices.Sorted(maps.Keys(s.items))
	return nil
}

func (s *survey) checkParent(dir string) (why string, err error) {
	name := changeset.Quote(dir)
	if it := s.items[dir]; it != nil {
		switch {
		case s.found.has(dir):
			return "its folder " + name + " is in conflict", nil
		case it.becomes() != changeset.Dir:
			return "its folder " + name + " is none in the end", nil
		}
		return "", nil
	}
	info, there, err := s.folder(dir)
	switch {
	case fault.Is(err, fault.Denied):
		return reasonOf(err), nil
	case err != nil:
		return "", err
	case there && info.Kind == fsop.KindDir:
		return "", nil
	case there:
		return "its folder " + name + " is a " + info.Kind.String() + " now", nil
	case !s.rules.git:
		return "its folder " + name + " is gone", nil
	}
	up, _ := fsop.SplitRel(dir)
	mode := uint32(0o755)
	if it := s.items[up]; it != nil { // made a step ago
		mode = it.result.Mode & 0o777
	} else if info, there, err := s.folder(up); err != nil {
		return "", err
	} else if there {
		mode = info.Mode & 0o777
	}
	entry := &changeset.Entry{Kind: changeset.Dir, Mode: mode}
	s.items[dir] = &item{path: dir, after: entry, implied: true, verdict: verdict{result: entry}}
	return "", nil
}

// checkRemovals sees to it that a folder that goes holds nothing but what goes
// with it. In a git checkout such a folder simply stays, as it does for git.
func (s *survey) checkRemovals() error {
	byDepth := slices.Clone(s.paths)
	slices.SortStableFunc(byDepth, func(a, b string) int { return cmp.Compare(depth(b), depth(a)) })
	for _, p := range byDepth {
		it := s.items[p]
		if it.is() != changeset.Dir || it.becomes() == changeset.Dir || s.found.has(p) {
			continue
		}
		entries, err := s.root.ReadDir(p)
		if fault.Is(err, fault.Denied) {
			s.found.add(p, reasonOf(err))
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			below := s.items[fsop.Join(p, e.Name)]
			if below != nil && (s.found.has(below.path) || below.becomes() == "" && !below.keep) {
				continue
			}
			if it.becomes() == "" && s.rules.git && !it.implied {
				it.keep, it.result, it.source = true, s.present(it), fromPresent
				break
			}
			s.found.add(p, "the plan deletes it, but it holds "+changeset.Quote(e.Name)+", which is not the plan's")
			break
		}
	}
	return nil
}

func depth(path string) int { return strings.Count(path, "/") }

// need is what must be done to a path.
type need int

const (
	needNothing  need = iota
	needPlace         // nothing there, something to be
	needRemove        // something there, nothing to be
	needSwap          // both, neither a folder
	needRetype        // both, one of them a folder
	needDirModes      // both folders; mode or attributes differ
)

func (s *survey) need(it *item) need {
	is, becomes := it.is(), it.becomes()
	switch {
	case is == "" && becomes == "", it.keep:
		return needNothing
	case is == "":
		return needPlace
	case becomes == "":
		return needRemove
	case equal(it.result, s.present(it)):
		return needNothing
	case is == changeset.Dir && becomes == changeset.Dir:
		return needDirModes
	case is == changeset.Dir || becomes == changeset.Dir:
		return needRetype
	}
	return needSwap
}
