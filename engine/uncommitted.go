package engine

import (
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

// uncommitted are changes of a set that no commit can hold: git knows files, not
// folders.
type uncommitted struct {
	empty []string // folders that come or go without a file in them
	modes []string // folders that stay and change their mode or attributes
}

func uncommittedOf(set *changeset.Set) uncommitted {
	var u uncommitted
	held := map[string]bool{} // folders that come or go with a file
	for i := range set.Changes {
		ch := &set.Changes[i]
		if ch.After != nil && ch.After.Kind != changeset.Dir {
			hold(held, ch.Path)
		}
		if ch.Before != nil && ch.Before.Kind != changeset.Dir {
			hold(held, ch.Path)
			if ch.From != "" {
				hold(held, ch.From)
			}
		}
	}
	for i := range set.Changes {
		ch := &set.Changes[i]
		was, is := isFolder(ch.Before), isFolder(ch.After)
		switch {
		case was && is && ch.From == "":
			u.modes = append(u.modes, ch.Path)
		case (was && ch.After == nil || is && ch.Before == nil) && !held[ch.Path]:
			u.empty = append(u.empty, ch.Path)
		}
	}
	return u
}

func isFolder(e *changeset.Entry) bool { return e != nil && e.Kind == changeset.Dir }

// hold marks every folder above a path.
func hold(held map[string]bool, path string) {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		held[path[:i]] = true
	}
}

func (u uncommitted) count() int { return len(u.empty) + len(u.modes) }

// String says it in words; "" when there is nothing to say.
func (u uncommitted) String() string {
	var parts []string
	for _, x := range []struct {
		paths []string
		one   string
		many  string
	}{{u.empty, "1 empty folder", "%d empty folders"}, {u.modes, "1 folder's mode", "the modes of %d folders"}} {
		if len(x.paths) == 0 {
			continue
		}
		what := x.one
		if len(x.paths) > 1 {
			what = fmt.Sprintf(x.many, len(x.paths))
		}
		var names []string
		for _, p := range x.paths[:min(len(x.paths), 3)] {
			names = append(names, changeset.Quote(p))
		}
		if len(x.paths) > 3 {
			names = append(names, "…")
		}
		parts = append(parts, what+" ("+strings.Join(names, ", ")+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " cannot be committed"
}

// carried counts the changes that an apply of parts carries out, and says what it
// leaves out. An apply that would carry nothing is refused.
func carried(p *Plan, parts []part) (n int, notices []string, err error) {
	for _, pt := range parts {
		n += len(pt.req.Set.Changes)
		if pt.target.To() == ToWorktree {
			continue
		}
		u := uncommittedOf(pt.req.Set)
		n -= u.count()
		if s := u.String(); s != "" {
			notices = append(notices, fmt.Sprintf("%s: %s", pt.rec.Resource.Name, s))
		}
	}
	if n == 0 {
		return 0, nil, fault.New(fault.Unsupported, "apply", "%s; plan %s changes nothing else there", strings.Join(notices, "; "), p.ID).
			WithHint("`ambit apply %s --to worktree` carries them", p.ID)
	}
	return n, notices, nil
}
