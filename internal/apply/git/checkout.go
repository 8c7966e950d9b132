package git

import (
	"context"
	"os"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// checkout plans how the files follow the branch.
type checkout struct {
	*result
	diffs []gitx.Diff

	sandbox map[string]*changeset.Change // what the request's changeset holds, by path
	set     map[string]*changeset.Change // what the files' target is to carry
	staged  map[string]string            // path → file of ours with its new contents
	leaving map[string]bool              // paths that end as no file
	stale   map[string]bool
}

func newCheckout(r *result, diffs []gitx.Diff) *checkout {
	return &checkout{
		result: r, diffs: diffs, sandbox: map[string]*changeset.Change{}, set: map[string]*changeset.Change{},
		staged: map[string]string{}, leaving: map[string]bool{},
	}
}

// planCheckout checks every path that the result changes, and has the files'
// target stage what becomes of them. The checkout is only read.
func (j *job) planCheckout(ctx context.Context, r *result) error {
	if err := j.openDirs(); err != nil {
		return err
	}
	j.plan = &plan{}
	old, err := r.tree(ctx, j.Old)
	if err != nil {
		return err
	}
	diffs, err := r.view.DiffTrees(ctx, old, j.New)
	if err != nil {
		return err
	}
	c := newCheckout(r, diffs)
	if r.req.Set != nil {
		for i := range r.req.Set.Changes {
			if ch := &r.req.Set.Changes[i]; ch.After != nil {
				c.sandbox[ch.Path] = ch
			}
		}
	}
	if err := c.survey(ctx); err != nil {
		return err
	}
	if err := c.contents(ctx); err != nil {
		return err
	}
	if err := c.directories(ctx); err != nil {
		return err
	}
	if err := c.stageFiles(ctx); err != nil {
		return err
	}
	return j.writePlan()
}

// survey fills the plan's steps with what each path is and is to become, and
// refuses paths that are not clean. Every such path is listed.
func (c *checkout) survey(ctx context.Context) error {
	staged, dirty, inWay, err := c.obstacles(ctx)
	if err != nil {
		return err
	}
	return notClean(staged, dirty, inWay)
}

// obstacles are the paths that are not clean, by kind.
func (c *checkout) obstacles(ctx context.Context) (staged, dirty, inWay []string, err error) {
	index, err := c.index(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if c.stale, err = c.staleFiles(ctx); err != nil {
		return nil, nil, nil, err
	}
	for _, d := range c.diffs {
		c.leaving[d.Path] = d.Status == 'D' || d.NewMode == gitx.ModeGitlink
	}
	for _, d := range c.diffs {
		s := step{Path: []byte(d.Path), IndexBefore: index[d.Path]}
		if d.Status != 'D' {
			s.IndexAfter = entry{Mode: d.NewMode, ID: d.NewID, Skip: s.IndexBefore.Skip}
		}
		was := entry{Mode: d.OldMode, ID: d.OldID}
		if d.Status == 'A' {
			was = entry{}
		}
		bare := s.IndexBefore
		bare.Skip = false
		if bare != was && bare != (entry{Mode: s.IndexAfter.Mode, ID: s.IndexAfter.ID}) {
			staged = append(staged, d.Path)
			continue
		}
		if was.Mode == gitx.ModeGitlink && s.IndexAfter.ID != "" && d.NewMode != gitx.ModeGitlink {
			inWay = append(inWay, d.Path) // the submodule's own checkout
			continue
		}
		if s.IndexBefore.Skip || d.OldMode == gitx.ModeGitlink || d.NewMode == gitx.ModeGitlink {
			c.plan.Steps = append(c.plan.Steps, s) // only the index follows
			continue
		}
		switch verdict, err := c.judge(ctx, &s, d); {
		case err != nil:
			return nil, nil, nil, err
		case verdict == "dirty":
			dirty = append(dirty, d.Path)
			continue
		case verdict == "in the way":
			inWay = append(inWay, d.Path)
			continue
		}
		c.plan.Steps = append(c.plan.Steps, s)
	}
	return staged, dirty, inWay, nil
}

// directories adds what git does not speak of: folders that a file takes the
// place of or that take a file's, and those that are left empty.
func (c *checkout) directories(ctx context.Context) error {
	needed := map[string]bool{}
	for i := range c.plan.Steps {
		s := &c.plan.Steps[i]
		if s.File && s.After.Kind != "" {
			for dir, _ := fsop.SplitRel(string(s.Path)); dir != "."; dir, _ = fsop.SplitRel(dir) {
				needed[dir] = true
			}
		}
	}
	for dir := range needed {
		if ch := c.set[dir]; ch != nil && ch.After == nil {
			ch.Op, ch.After = changeset.Modified, &changeset.Entry{Kind: changeset.Dir, Mode: 0o777 &^ umask()}
			if ch.Before.Kind == changeset.Dir {
				delete(c.set, dir)
			}
		}
	}
	for i := range c.plan.Steps {
		s := &c.plan.Steps[i]
		if !s.File {
			continue
		}
		if ch := c.set[string(s.Path)]; ch != nil && ch.After != nil && ch.After.Kind == changeset.Dir {
			s.After = side{Kind: changeset.Dir, Mode: ch.After.Mode}
		}
		if s.After.Kind != "" {
			continue
		}
		for dir, _ := fsop.SplitRel(string(s.Path)); dir != "." && !needed[dir] && c.set[dir] == nil; dir, _ = fsop.SplitRel(dir) {
			info, err := c.root.Stat(dir)
			if err != nil {
				return err
			}
			// Whether anything is left in it, the files' target finds out.
			c.set[dir] = &changeset.Change{Path: dir, Op: changeset.Deleted, Before: &changeset.Entry{Kind: changeset.Dir, Mode: info.Mode}}
		}
	}
	return context.Cause(ctx)
}

// stageFiles hands the files to the target that carries them.
func (c *checkout) stageFiles(ctx context.Context) error {
	if len(c.set) == 0 {
		return nil
	}
	set := &changeset.Set{Resource: c.req.Resource.Name, Root: c.req.Resource.Path, Type: c.req.Resource.Type}
	for _, ch := range c.set {
		set.Changes = append(set.Changes, *ch)
	}
	set.Sort()
	dir := c.file(filesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(fault.Internal, "stage files", err)
	}
	var err error
	c.plan.Files, err = c.cfg.Files.Prepare(ctx, engine.TargetRequest{
		Plan: c.Plan, Resource: c.req.Resource, Dir: dir, Set: set, Src: stagedSource(c.staged),
		AllowSetuid: true, // decided already, see mode
		Now:         c.req.Now,
	})
	return err
}
