package git

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// checkout plans how the files follow the branch.
type checkout struct {
	*result
	diffs []gitx.Diff

	changes map[string]*changeset.Change // made by wanted
	cleared map[string]uint32            // directories that a file takes the place of, with their modes
	device  uint64
	mount   uint64
}

// survey fills the plan's steps with what each path is and is to become in the
// index, and refuses paths that are not clean. Every such path is listed.
func (c *checkout) survey(ctx context.Context) error {
	info, err := c.root.Stat(".")
	if err != nil {
		return err
	}
	c.device, c.mount = info.Dev(), info.MntID
	index, err := c.index(ctx)
	if err != nil {
		return err
	}
	stale, err := c.stale(ctx)
	if err != nil {
		return err
	}
	leaving := map[string]bool{}
	for _, d := range c.diffs {
		leaving[d.Path] = d.Status == 'D' || d.NewMode == gitx.ModeGitlink
	}
	var staged, dirty, inWay []string
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
		switch verdict, err := c.judge(ctx, &s, d, stale[d.Path], leaving); {
		case err != nil:
			return err
		case verdict == "dirty":
			dirty = append(dirty, d.Path)
			continue
		case verdict == "in the way":
			inWay = append(inWay, d.Path)
			continue
		}
		c.plan.Steps = append(c.plan.Steps, s)
	}
	if all := append(append(append([]string{}, staged...), dirty...), inWay...); len(all) > 0 {
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
	return nil
}

// judge looks at one path of the work tree: "", "dirty" or "in the way".
func (c *checkout) judge(ctx context.Context, s *step, d gitx.Diff, stale bool, leaving map[string]bool) (string, error) {
	if err := c.sameMount(d.Path); err != nil {
		return "", err
	}
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
	s.Slot = fmt.Sprintf("%06d", len(c.plan.Steps))
	if !c.plain.TrustsModes() && mode == gitx.ModeExec {
		mode = gitx.ModeFile
	}
	if !c.plain.TrustsModes() && id != "" && mode == gitx.ModeFile { // git believes the index, not the file
		for _, m := range []string{d.OldMode, d.NewMode} {
			if m == gitx.ModeExec {
				mode = m
			}
		}
	}
	if d.Status != 'D' && id == d.NewID && mode == d.NewMode {
		s.Slot, s.After = "", s.Before // it is what it is to become
		return "", nil
	}
	if d.Status == 'D' && s.Before.Kind == absent {
		s.Slot = "" // gone already
		return "", nil
	}
	if d.Status == 'A' {
		return c.newPath(ctx, s, d.Path, leaving)
	}
	if id == d.OldID && mode == d.OldMode {
		return "", nil
	}
	// Bytes that are not the blob's are clean when git knows the file and a
	// conversion made them so.
	if id != "" && !stale && mode == d.OldMode {
		return "", nil
	}
	return "dirty", nil
}

// newPath judges the place of a new file: free, or a directory or file that goes.
func (c *checkout) newPath(ctx context.Context, s *step, path string, leaving map[string]bool) (string, error) {
	for dir, _ := fsop.SplitRel(path); dir != "."; dir, _ = fsop.SplitRel(dir) {
		info, err := c.root.Stat(dir)
		if err == nil && info.Kind != fsop.KindDir && !leaving[dir] {
			return "in the way", nil
		}
	}
	switch s.Before.Kind {
	case absent:
		return "", nil
	case other:
		info, err := c.root.Stat(path)
		if err != nil {
			return "", err
		}
		if info.Kind != fsop.KindDir {
			return "in the way", nil
		}
	default:
		return "in the way", nil
	}
	s.Before = side{} // the directory is gone when the file's turn comes
	free := true
	dirs := map[string]uint32{path: 0}
	err := c.root.Walk(ctx, path, fsop.WalkOptions{}, func(p string, info fsop.Info) error {
		if info.Kind == fsop.KindDir {
			dirs[p] = info.Mode
		} else if !leaving[p] {
			free = false
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if !free {
		return "in the way", nil
	}
	if c.cleared == nil {
		c.cleared = map[string]uint32{}
	}
	maps.Copy(c.cleared, dirs)
	return "", nil
}

// sameMount refuses paths that lie on another mount than the checkout's top:
// no rename reaches them.
func (c *checkout) sameMount(path string) error {
	dir, _ := fsop.SplitRel(path)
	for ; ; dir, _ = fsop.SplitRel(dir) {
		info, err := c.root.Stat(dir)
		if err != nil && dir != "." {
			continue
		}
		if err != nil {
			return err
		}
		if info.Kind == fsop.KindDir && (info.Dev() != c.device || info.MntID != c.mount) {
			return fault.New(fault.Unsupported, "apply", "%s lies on another file system than the checkout", path).
				WithPaths(path).WithHint("apply to a branch instead: --to branch")
		}
		return nil
	}
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

// stale lists the work tree paths that git itself would have to read again, and
// those it was told to assume unchanged, which nobody has looked at.
func (c *checkout) stale(ctx context.Context) (map[string]bool, error) {
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
	if len(c.New) == 64 {
		return "sha256"
	}
	return "sha1"
}

// wanted is what the sandbox holds, by path.
func (c *checkout) wanted() map[string]*changeset.Change {
	if c.changes == nil {
		c.changes = map[string]*changeset.Change{}
		if c.req.Set != nil {
			for i := range c.req.Set.Changes {
				if ch := &c.req.Set.Changes[i]; ch.After != nil {
					c.changes[ch.Path] = ch
				}
			}
		}
	}
	return c.changes
}
