package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

// Review shows what a plan would change. See Service.
func (e *Engine) Review(ctx context.Context, req ReviewRequest) (*Review, error) {
	var out *Review
	err := e.withShared(ctx, req.Plan, "diff", func(p *Plan) error {
		c, err := e.openCell(ctx, p, e.cfg.Environ)
		if err != nil {
			return err
		}
		out, err = e.review(ctx, c, req)
		if err == nil {
			for _, rs := range out.Sets {
				err = errors.Join(err, partly(rs.Set, changeset.CountLines(ctx, rs.Set, rs.Source, changeset.Limits{})))
			}
		}
		return errors.Join(err, c.release())
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// review computes the changesets of all sandboxes, annotated and selected.
func (e *Engine) review(ctx context.Context, c *cell, req ReviewRequest) (*Review, error) {
	p := c.plan
	if err := c.resourcesThere("compare"); err != nil {
		return nil, err
	}
	from, to := CheckpointCreation, CheckpointNow
	if req.Step != "" {
		s, err := p.step(req.Step)
		if err != nil {
			return nil, err
		}
		if s.From == "" || s.To == "" {
			return nil, fault.New(fault.Conflict, "diff", "step %s has not run", s.ID).WithHint("`ambit status %s` shows which steps have", p.ID)
		}
		from, to = s.From, s.To
	}
	byStep, err := e.stepPaths(p)
	if err != nil {
		return nil, err
	}
	done, err := e.appliedPaths(p)
	if err != nil {
		return nil, err
	}
	declared := map[string][]string{}
	for _, s := range p.Steps {
		declared[s.ID] = s.Files
	}
	sel := newSelector(req)
	out := &Review{Plan: p}
	for i, rec := range p.Sandboxes {
		set, src, err := c.boxes[rec.ID].Changes(ctx, from, to, ChangeOptions{Ignored: c.ignoredInside(i), KeepIgnored: req.Ignored, SkipDrift: req.SkipDrift})
		if err != nil {
			return nil, err
		}
		set.Resource, set.Root, set.Type = rec.Resource.Name, rec.Resource.Path, rec.Resource.Type
		if req.Ignored {
			set.Changes = append(set.Changes, set.Ignored...)
			set.Ignored, set.IgnoredPaths = nil, 0
			set.Sort()
		}
		kept := set.Changes[:0]
		for _, ch := range set.Changes {
			if was := done[rec.ID][ch.Path]; req.Step == "" && was != nil && was.After.Same(ch.After) {
				continue // carried out by an earlier apply of part of the plan
			}
			ch.Steps = byStep[rec.ID][ch.Path]
			kept = append(kept, ch)
		}
		set.Changes = kept
		if err := partly(set, changeset.Annotate(ctx, set, src, changeset.Policy{Declared: declared})); err != nil {
			return nil, fault.Wrap("", "diff", err)
		}
		set, rest, err := sel.pick(rec.Resource, set)
		if err != nil {
			return nil, err
		}
		out.Rest += rest
		for _, ch := range set.Changes {
			for _, f := range ch.Flags {
				if f.Blocking() {
					out.Blocking = append(out.Blocking, ch)
					break
				}
			}
		}
		out.Sets = append(out.Sets, ReviewSet{Sandbox: rec.ID, Set: set, Source: src})
	}
	if err := sel.unmatched(); err != nil {
		return nil, err
	}
	return out, nil
}

// partly turns contents that are gone into a remark of the set: somebody changed
// the real file since, which its drift names and an apply meets as a conflict.
// One such file must not hide all the others.
func partly(set *changeset.Set, err error) error {
	if !fault.Is(err, fault.Stale) {
		return err
	}
	const gone = "files that changed outside meanwhile are shown without what they were before; an apply meets them as conflicts"
	if !slices.Contains(set.Notices, gone) {
		set.Notices = append(set.Notices, gone)
	}
	return nil
}

// stepChange is one path in the kept record of a step.
type stepChange struct {
	Path  []byte           `json:"path"` // base64: a path need not be UTF-8
	After *changeset.Entry `json:"after,omitempty"`
	New   bool             `json:"new,omitempty"` // there was nothing before
}

// recordStep keeps which paths a step changed, by sandbox.
func (e *Engine) recordStep(p *Plan, step string, sets []ReviewSet) error {
	return e.writePaths(p.recordPath(step), sets)
}

func (e *Engine) writePaths(path string, sets []ReviewSet) error {
	rec := map[string][]stepChange{}
	for _, s := range sets {
		for _, ch := range s.Set.Changes {
			rec[s.Sandbox] = append(rec[s.Sandbox], stepChange{Path: []byte(ch.Path), After: ch.After, New: ch.Before == nil || ch.From != ""})
			if ch.From != "" {
				rec[s.Sandbox] = append(rec[s.Sandbox], stepChange{Path: []byte(ch.From)})
			}
		}
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return fault.Wrap(fault.Internal, "record paths", err)
	}
	if err := writeDurable(path, raw); err != nil {
		return folderFault("record paths", err)
	}
	return nil
}

func readPaths(path string) (map[string][]stepChange, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return map[string][]stepChange{}, nil
	}
	if err != nil {
		return nil, folderFault("read record", err)
	}
	var rec map[string][]stepChange
	if err := json.Unmarshal(raw, &rec); err != nil {
		return nil, fault.Wrap(fault.Internal, "read record", err)
	}
	return rec, nil
}

// stepPaths says which steps touched a path: sandbox → path → step ids in order.
func (e *Engine) stepPaths(p *Plan) (map[string]map[string][]string, error) {
	out := map[string]map[string][]string{}
	for _, s := range p.Steps {
		rec, err := readPaths(p.recordPath(s.ID))
		if err != nil {
			return nil, err
		}
		for sb, chs := range rec {
			if out[sb] == nil {
				out[sb] = map[string][]string{}
			}
			for _, ch := range chs {
				out[sb][string(ch.Path)] = append(out[sb][string(ch.Path)], s.ID)
			}
		}
	}
	return out, nil
}

// appliedPaths collects what committed applies of this plan carried out already:
// sandbox → path.
func (e *Engine) appliedPaths(p *Plan) (map[string]map[string]*stepChange, error) {
	out := map[string]map[string]*stepChange{}
	for _, a := range p.Applies {
		if a.Status != applyCommitted {
			continue
		}
		rec, err := readPaths(p.applyPaths(a.ID))
		if err != nil {
			return nil, err
		}
		for sb, chs := range rec {
			if out[sb] == nil {
				out[sb] = map[string]*stepChange{}
			}
			for i := range chs {
				out[sb][string(chs[i].Path)] = &chs[i]
			}
		}
	}
	return out, nil
}

// applyPaths is the record of which paths an apply carries.
func (p *Plan) applyPaths(id string) string { return filepath.Join(p.Dir, "apply", id, "paths.json") }

// step finds a step by id or unique prefix.
func (p *Plan) step(ref string) (*Step, error) {
	var hits []*Step
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.ID == ref {
			return s, nil
		}
		if len(ref) > 0 && len(s.ID) >= len(ref) && s.ID[:len(ref)] == ref {
			hits = append(hits, s)
		}
	}
	if len(hits) == 1 {
		return hits[0], nil
	}
	ids := make([]string, 0, len(p.Steps))
	for _, s := range p.Steps {
		ids = append(ids, s.ID)
	}
	sort.Strings(ids)
	return nil, fault.New(fault.NotFound, "find step", "plan %s has no single step %q", p.ID, ref).WithPaths(ids...)
}
