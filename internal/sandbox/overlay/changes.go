package overlay

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Changes compares two states. See engine.Sandbox. Its cost is that of the
// layers between the states; with a live lower and without opts.SkipDrift a
// bounded walk of the real tree comes on top.
func (s *Sandbox) Changes(ctx context.Context, from, to string, opts engine.ChangeOptions) (*changeset.Set, changeset.Source, error) {
	set, src, err := s.changes(ctx, from, to, opts)
	if err != nil {
		return nil, nil, fault.Wrap("", "compare states", err)
	}
	return set, src, nil
}

func (s *Sandbox) changes(ctx context.Context, from, to string, opts engine.ChangeOptions) (_ *changeset.Set, _ changeset.Source, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	vf, err := s.view(from)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, vf.close())
		}
	}()
	vt, err := s.view(to)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, vt.close())
		}
	}()
	d := newDiffer(ctx, vf, vt, s.isGit())
	if err := d.run(); err != nil {
		return nil, nil, err
	}
	r := s.st.Resource
	set := &changeset.Set{Resource: r.Name, Root: r.Path, Type: r.Type}
	drift, err := s.findDrift(ctx, d, opts.SkipDrift)
	if err != nil {
		return nil, nil, err
	}
	kept, ignored, err := classify(ctx, d.out, &drift.elsewhere, s.isGit(), opts.Ignored)
	if err != nil {
		return nil, nil, err
	}
	src := &source{from: vf, to: vt, stale: drift.changed, renamed: map[string]string{}, stamp: s.st.Stamp, untouched: drift.untouched}
	src.remember(append(kept[:len(kept):len(kept)], ignored...))
	if set.Changes, err = d.describe(ctx, kept, drift, set); err != nil {
		return nil, nil, err
	}
	changeset.DetectRenames(set)
	for _, c := range set.Changes {
		if c.Op == changeset.Renamed {
			src.renamed[c.Path] = c.From
		}
	}
	set.IgnoredPaths = len(ignored)
	if opts.KeepIgnored {
		if set.Ignored, err = d.describe(ctx, ignored, drift, set); err != nil {
			return nil, nil, err
		}
		set.IgnoredPaths = len(set.Ignored)
	}
	set.Skipped = d.skipped
	set.Drift = drift.list(set)
	set.Notices = append(set.Notices, drift.notices...)
	set.Sort()
	// A source that its user forgets would keep descriptors for ever.
	runtime.AddCleanup(src, func(vs [2]*view) { _ = errors.Join(vs[0].close(), vs[1].close()) }, [2]*view{vf, vt})
	return set, src, nil
}

// readWorkers is how many files are hashed at a time: opening is latency, not
// computation, so a few more than there are cores in a small machine.
const readWorkers = 4

// describe reads candidates and returns those that really differ. What cannot
// be read is added to the skipped paths.
func (d *differ) describe(ctx context.Context, cands []candidate, dr *drift, set *changeset.Set) ([]changeset.Change, error) {
	res, err := d.readAll(ctx, cands, readWorkers)
	if err != nil {
		return nil, err
	}
	var out []changeset.Change
	split := 0
	for i, c := range cands {
		r := res[i]
		if r.skip != "" {
			d.skip(c.path, r.skip)
			continue
		}
		if r.before.entry.Same(r.after.entry) {
			delete(dr.changed, c.path)
			continue
		}
		if dr.again != nil {
			changed, err := dr.again(c)
			if err != nil {
				return nil, err
			}
			if changed {
				dr.changed[c.path] = true
			}
		}
		ch := changeset.Change{
			Path: c.path, Op: changeset.Modified, Before: r.before.entry, After: r.after.entry,
			Binary: r.before.binary || r.after.binary,
		}
		switch {
		case c.before == nil:
			ch.Op = changeset.Created
		case c.after == nil:
			ch.Op = changeset.Deleted
		}
		if dr.changed[c.path] && ch.Before != nil {
			// What it was when the sandbox was made is not known any more: an empty
			// hash and link text, which equal nothing.
			ch.Before.Hash, ch.Before.Link = "", ""
		}
		if c.before != nil && c.before.info.Kind == fsop.KindFile && c.before.info.Nlink > 1 &&
			c.after != nil && d.from.layers[c.before.at].Kind == layerLive {
			split++
		}
		out = append(out, ch)
	}
	if split > 0 {
		set.Notices = append(set.Notices, fmt.Sprintf("%d changed files have further names (hard links); a change through one name is not seen through the others", split))
	}
	return out, nil
}

// classify splits candidates by the resource's ignore rules, before anything of
// the ignored ones is read.
func classify(ctx context.Context, cands []candidate, elsewhere *[]string, git bool,
	rules func(context.Context, []string) (map[string]bool, error),
) (kept, ignored []candidate, err error) {
	if rules == nil || len(cands)+len(*elsewhere) == 0 {
		return cands, nil, nil
	}
	list := make([]changeset.Ruled, len(cands))
	paths := make([]string, 0, len(cands)+len(*elsewhere))
	for i, c := range cands {
		n := c.after
		if n == nil {
			n = c.before
		}
		list[i] = changeset.Ruled{Path: c.path, Dir: n.isDir(), New: c.before == nil, Gone: c.after == nil}
		paths = append(paths, list[i].IgnorePath())
	}
	hit, err := rules(ctx, append(paths, *elsewhere...))
	if err != nil {
		return nil, nil, fmt.Errorf("ask the ignore rules: %w", err)
	}
	out := (*elsewhere)[:0]
	for _, p := range *elsewhere {
		if !hit[p] {
			out = append(out, p)
		}
	}
	*elsewhere = out
	for i, drop := range changeset.Ignored(list, hit, git) {
		if drop {
			ignored = append(ignored, cands[i])
		} else {
			kept = append(kept, cands[i])
		}
	}
	return kept, ignored, nil
}
