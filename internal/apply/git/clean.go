package git

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// notClean is the refusal to touch the person's own work (C125).
func notClean(staged, dirty, inWay []string) error {
	all := slices.Concat(staged, dirty, inWay)
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	var why []string
	for _, w := range []struct {
		n    int
		what string
	}{{len(staged), "with staged changes"}, {len(dirty), "with uncommitted changes"}, {len(inWay), "where an untracked file is in the way"}} {
		if w.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", w.n, w.what))
		}
	}
	return conflict(all, "the checkout has your own work at paths of the plan: %s", strings.Join(why, ", ")).
		WithHint("commit, move or revert them and apply again (nothing is stashed for you), or use --to branch or --only")
}

// judge looks at one path of the work tree: "", "dirty" or "in the way".
func (c *checkout) judge(ctx context.Context, s *step, d gitx.Diff) (string, error) {
	var err error
	if s.Before, err = look(ctx, c.root, d.Path); err != nil {
		return "", err
	}
	mode, id, err := gitx.BlobIDOf(c.root, d.Path, c.format())
	if fault.Is(err, fault.NotFound) || blocked(err) {
		mode, id, err = "", "", nil
	}
	if err != nil {
		return "", err
	}
	if !c.plain.TrustsModes() && id != "" && mode != gitx.ModeSymlink { // git believes the index, not the file
		mode = gitx.ModeFile
		if d.OldMode == gitx.ModeExec || d.NewMode == gitx.ModeExec {
			mode = gitx.ModeExec
		}
	}
	s.File = true
	switch {
	case d.Status != 'D' && id == d.NewID && mode == d.NewMode:
		s.File = false // it is what it is to become
		return "", nil
	case d.Status == 'D' && s.Before.Kind == "":
		s.File = false // gone already
		return "", nil
	case d.Status == 'A':
		return c.newPath(ctx, s, d.Path)
	case id == d.OldID && mode == d.OldMode:
		return "", nil
	case id != "" && !c.stale[d.Path] && mode == d.OldMode:
		// Bytes that are not the blob's are clean when git knows the file and a
		// conversion made them so.
		return "", nil
	}
	return "dirty", nil
}

// newPath judges the place of a new file: free, or a directory or file that goes.
func (c *checkout) newPath(ctx context.Context, s *step, path string) (string, error) {
	for dir, _ := fsop.SplitRel(path); dir != "."; dir, _ = fsop.SplitRel(dir) {
		info, err := c.root.Stat(dir)
		if err == nil && info.Kind != fsop.KindDir && !c.leaving[dir] {
			return "in the way", nil
		}
	}
	switch s.Before.Kind {
	case "":
		return "", nil
	case changeset.Dir:
	default:
		return "in the way", nil
	}
	free := true
	err := c.root.Walk(ctx, path, fsop.WalkOptions{}, func(p string, info fsop.Info) error {
		switch {
		case info.Kind == fsop.KindDir:
			if p != path { // empty ones go with it
				c.set[p] = &changeset.Change{Path: p, Op: changeset.Deleted, Before: &changeset.Entry{Kind: changeset.Dir, Mode: info.Mode}}
			}
		case !c.leaving[p]:
			free = false
		}
		return nil
	})
	if err != nil || free {
		return "", err
	}
	return "in the way", nil
}

// index reads the index entries of the touched paths. An unfinished merge is
// refused.
func (c *checkout) index(ctx context.Context) (map[string]entry, error) {
	touched := map[string]bool{}
	for _, d := range c.diffs {
		touched[d.Path] = true
	}
	list, err := c.plain.IndexEntries(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]entry{}
	var unmerged []string
	for _, e := range list {
		if e.Stage != 0 {
			unmerged = append(unmerged, e.Path)
		}
		if touched[e.Path] {
			found[e.Path] = entry{Mode: e.Mode, ID: e.ID, Skip: e.SkipWorktree}
		}
	}
	if len(unmerged) > 0 {
		return nil, conflict(slices.Compact(unmerged), "the index holds unresolved conflicts").
			WithHint("resolve them first, or apply to a branch: --to branch")
	}
	return found, nil
}

// staleFiles lists the work tree paths that git itself would have to read again,
// and those it was told to assume unchanged, which nobody has looked at.
func (c *checkout) staleFiles(ctx context.Context) (map[string]bool, error) {
	stale := map[string]bool{}
	diffs, err := c.plain.StatDirty(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range diffs {
		stale[d.Path] = true
	}
	assumed, err := c.plain.AssumedUnchanged(ctx)
	for _, p := range assumed {
		stale[p] = true
	}
	return stale, err
}

func (c *checkout) format() string {
	if len(c.Old) == 64 || len(c.New) == 64 {
		return "sha256"
	}
	return "sha1"
}
