package overlay

import (
	"context"
	"fmt"
	"io/fs"
	"sort"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
)

const (
	// driftEntries bounds the walk for drift; about a second of a plain disk.
	driftEntries = 250_000
	// driftListed bounds the list that is shown.
	driftListed = 1_000
)

// drift is what happened in the real tree under a sandbox that stands on it.
type drift struct {
	changed map[string]bool // paths that changed on both sides
	// untouched are paths whose change time moved although they did not change, with
	// the change time that this was found for.
	untouched map[string]time.Time
	elsewhere []string // further paths that changed in the real tree only; directories end with '/'
	notices   []string
	// again asks once more whether a candidate changed below, by what it is now.
	// What was read as the state before counts only if it did not change until
	// it had been read.
	again func(c candidate) (bool, error)
}

// findDrift looks for it. Candidates are checked one by one, which is what keeps
// a person's edit from being overwritten; the walk for everything else is for
// information and may be skipped.
func (s *Sandbox) findDrift(ctx context.Context, d *differ, skipWalk bool) (*drift, error) {
	dr := &drift{changed: map[string]bool{}, untouched: map[string]time.Time{}}
	var live, pin *layer
	for _, l := range d.from.layers {
		switch l.Kind {
		case layerLive:
			live = l
		case layerPin:
			pin = l
		default:
		}
	}
	if live == nil {
		return dr, nil
	}
	dr.again = func(c candidate) (bool, error) {
		if c.before == nil || d.from.layers[c.before.at].Kind != layerLive {
			return false, nil // absence is checked by whoever makes the path
		}
		info, err := live.root.Stat(c.path)
		if err != nil || info.Kind != c.before.info.Kind {
			return true, absent(err)
		}
		now := *c.before
		now.info = info
		return s.changedBelow(d, dr, live, candidate{path: c.path, before: &now, after: c.after})
	}
	seen := map[string]bool{}
	for _, c := range d.out {
		seen[c.path] = true
		changed, err := s.changedBelow(d, dr, live, c)
		if err != nil {
			return nil, err
		}
		if changed {
			dr.changed[c.path] = true
		}
	}
	if skipWalk || s.st.Lower != engine.LowerLive {
		return dr, nil
	}
	return dr, s.walkDrift(ctx, live, pin, seen, dr)
}

// changedBelow reports whether the real tree's version of a candidate changed
// after the sandbox was made.
func (s *Sandbox) changedBelow(d *differ, dr *drift, live *layer, c candidate) (bool, error) {
	if c.before != nil {
		if d.from.layers[c.before.at].Kind != layerLive {
			return false, nil
		}
		info := c.before.info
		if info.Kind == fsop.KindDir {
			// Entries that come and go change a directory's times too, and each of
			// them is judged by itself. What remains is its own mode, or its being
			// moved here: a change time later than the last entry's.
			return s.st.Stamp.after(info) && info.Ctime.After(info.Mtime), nil
		}
		if !s.st.Stamp.after(info) || dr.untouched[c.path].Equal(info.Ctime) {
			return false, nil
		}
		same, err := s.untouched(live, c.path, info)
		if same {
			dr.untouched[c.path] = info.Ctime
		}
		return !same, err
	}
	// Nothing is there below now. Was there something when the sandbox was made?
	if d.to.layers[c.after.at].Kind != layerDelta {
		return false, nil
	}
	dir, _ := fsop.SplitRel(c.path)
	for {
		info, err := live.root.Stat(dir)
		if err == nil {
			if info.Mtime.Before(s.st.Stamp.Threshold) {
				return false, nil // no name in it has come or gone since
			}
			break
		}
		if absent(err) != nil {
			return false, err
		}
		dir, _ = fsop.SplitRel(dir)
	}
	if tracked, err := s.trackedAtCreation(c.path); err != nil || tracked {
		return tracked, err
	}
	copied, err := d.to.layers[c.after.at].copiedUp(c.path)
	if err != nil || !copied {
		return false, err
	}
	// Copied from below, so it was there, or it was moved here from another
	// name inside: then that name is gone inside.
	for _, o := range d.out {
		if o.after == nil && o.before.info.Kind == c.after.info.Kind {
			_, a := fsop.SplitRel(o.path)
			_, b := fsop.SplitRel(c.path)
			if a == b || o.before.info.Size == c.after.info.Size {
				return false, nil
			}
		}
	}
	return true, nil
}

// walkDrift lists what else changed in the real tree since the sandbox was made.
func (s *Sandbox) walkDrift(ctx context.Context, live, pin *layer, seen map[string]bool, dr *drift) error {
	n, listed := 0, map[string]bool{}
	dirs := map[string]bool{} // changed directories none of whose entries account for it
	root, err := live.root.Stat(".")
	if err != nil {
		return err
	}
	dirs["."] = s.st.Stamp.after(root)
	git := s.isGit()
	opts := fsop.WalkOptions{
		StayOnMount: true,
		SkipDir:     func(path string, _ fsop.Info) bool { return git && path == ".git" },
		OnError:     func(string, error) error { return nil },
	}
	err = live.root.Walk(ctx, ".", opts, func(path string, info fsop.Info) error {
		if n++; n > driftEntries {
			dr.notices = append(dr.notices, fmt.Sprintf("only the first %d entries of the real tree were looked at for changes made meanwhile", driftEntries))
			return fs.SkipAll
		}
		if !s.st.Stamp.after(info) {
			return nil
		}
		parent, _ := fsop.SplitRel(path)
		if info.Kind != fsop.KindDir {
			delete(dirs, parent)
			if !seen[path] && !covered(pin, path) { // what was kept is not seen inside
				listed[path] = true
			}
			return nil
		}
		if !info.Mtime.Before(s.st.Stamp.Threshold) && !covered(pin, path) {
			dirs[path] = true
		}
		if !info.Btime.IsZero() && !info.Btime.Before(s.st.Stamp.Threshold) {
			delete(dirs, parent)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if dirs["."] {
		dr.notices = append(dr.notices, "entries of the resource's own folder were removed or renamed in the real tree meanwhile")
	}
	delete(dirs, ".")
	if git {
		delete(dirs, ".git")
		delete(listed, ".git")
	}
	for p := range dirs {
		listed[p+"/"] = true
	}
	dr.elsewhere = sorted(listed)
	return nil
}

// list is what Set.Drift shows: the paths changed on both sides first of all,
// then the others, sorted, at most driftListed of these.
func (dr *drift) list(set *changeset.Set) []string {
	var out []string
	for _, chs := range [][]changeset.Change{set.Changes, set.Ignored} {
		for _, c := range chs {
			if dr.changed[c.Path] {
				out = append(out, c.Path)
			}
			if c.From != "" && dr.changed[c.From] {
				out = append(out, c.From)
			}
		}
	}
	more := dr.elsewhere
	if len(more) > driftListed {
		dr.notices = append(dr.notices, fmt.Sprintf("%d more paths of the real tree changed meanwhile", len(more)-driftListed))
		more = more[:driftListed]
	}
	out = append(out, more...)
	sort.Strings(out)
	return out
}
