package overlay

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox/uncommitted"
)

// frozen prepares a checkout that stands on one commit: a clean base shared by
// all sandboxes of that commit, the person's uncommitted work as a layer and a
// commit of its own, ignored files shining through from the live tree.
func (c *creation) frozen(ctx context.Context, lower *fsop.Dir) error {
	st := c.sb.st
	at, refs, err := c.openGit(ctx)
	if err != nil {
		return err
	}
	if st.Base == "" {
		return fault.New(fault.Unsupported, "", "the repository has no commit to stand on").
			WithHint("commit something, or use the live lower")
	}
	bases, err := c.strat.openBases(ctx, c.req.BasesDir, st.Resource, c.req.Now)
	if err != nil {
		return err
	}
	c.phase("refs")
	work, err := c.lookAtWork(ctx, bases.repo)
	if err != nil {
		return err
	}
	c.phase("status")
	base, info, err := bases.claim(ctx, st.Base, c.req.Dir, c.req.Progress)
	if err != nil {
		return err
	}
	c.baseNotices(info)
	c.phase("base")

	f, err := c.prepLayer(at)
	if err != nil {
		return err
	}
	defer f.close()
	if err := c.dotGit(ctx, lower); err != nil {
		return err
	}
	st.Tree.Bottom = []layerRef{{Kind: layerBase, Path: filepath.Join(base, baseTree)}}
	tip := st.Base
	if err := c.copyIndex(ctx, base, f); err != nil {
		return err
	}
	if !work.dirty.Clean() && st.Dirty == engine.DirtyCarry {
		if err := c.carry(ctx, lower, bases, f, work.dirty); err != nil {
			return err
		}
		if st.Carry != "" {
			tip = st.Carry
		}
		c.phase("carry")
	}
	if err := f.git(ctx, refs, st.Branch, tip, false); err != nil {
		return err
	}
	if what := f.unfinished(); what != "" {
		c.notice("%s is under way in the checkout: it is not seen inside, and no part of the plan", what)
	}
	c.phase("git")
	if err := c.ignoredLayers(ctx, lower, bases.repo, work); err != nil {
		return err
	}
	c.phase("ignored")
	return nil
}

// work is what lies in the checkout beside its commit.
type work struct {
	dirty   gitx.Dirty
	ignored []string  // a directory of which everything is ignored ends with '/'
	asked   time.Time // when git was asked for the ignored paths
}

// lookAtWork asks git about uncommitted work and ignored files, at the same time.
func (c *creation) lookAtWork(ctx context.Context, repo *gitx.Repo) (*work, error) {
	w := &work{asked: c.sb.strat.clock()}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		w.dirty, err = repo.Dirty(gctx, c.sb.st.Base)
		return err
	})
	g.Go(func() (err error) {
		w.ignored, err = repo.Ignored(gctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if w.dirty.Clean() {
		return w, nil
	}
	switch c.sb.st.Dirty {
	case engine.DirtyRefuse:
		return nil, uncommitted.Refuse(c.sb.st.Resource.Path, w.dirty)
	case engine.DirtyHide:
		c.notice("%d uncommitted paths are not seen inside (--dirty=hide)", len(w.dirty.Paths()))
	case engine.DirtyCarry:
	default:
		return nil, fault.New(fault.Invalid, "", "%q is no way to treat uncommitted work", c.sb.st.Dirty).
			WithHint("carry, refuse or hide")
	}
	return w, nil
}

// copyIndex gives the sandbox the base's index, whose stat data fit the base.
func (c *creation) copyIndex(ctx context.Context, base string, f *freezer) error {
	d, err := c.strat.openRoot(base)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := f.mkdirs(f.at.gitDir); err != nil {
		return err
	}
	if _, err := fsop.CopyFile(ctx, d, baseIndex, f.layer, fsop.Join(f.at.gitDir, "index"), fsop.CopyOptions{}); err != nil {
		return fmt.Errorf("copy the base's index: %w", err)
	}
	return nil
}

// dotGit gives the tree what stands for .git in it: the mount point of the git
// directory, or the pointer to it. The base has neither, since linked worktrees
// of one repository share it.
func (c *creation) dotGit(ctx context.Context, lower *fsop.Dir) error {
	layer, err := c.dir.OpenDir(layersDir + "/" + c.sb.st.Layers[0] + "/" + partUpper)
	if err != nil {
		return err
	}
	defer layer.Close()
	info, err := lower.Stat(".git")
	if err != nil {
		return err
	}
	switch info.Kind {
	case fsop.KindDir:
		if err := layer.Mkdir(".git", info.Mode); err != nil {
			return err
		}
		return layer.SetXattr(".git", xattrUserOpaque, []byte("y"))
	case fsop.KindSymlink:
		text, err := lower.Readlink(".git")
		if err != nil {
			return err
		}
		return layer.Symlink(text, ".git")
	case fsop.KindFile:
		_, err := fsop.CopyFile(ctx, lower, ".git", layer, ".git", fsop.CopyOptions{})
		return err
	default:
		return fault.New(fault.Invalid, "", "%s/.git is a %s", lower.Name(), info.Kind)
	}
}

// baseNotices names what a checkout by ambit does not fill (C24, C25, C26).
func (c *creation) baseNotices(info *baseInfo) {
	if n := len(info.Submodules); n > 0 {
		c.notice("submodules are empty folders inside (%s%s): use --lower live if the steps need them", info.Submodules[0], more(n))
	}
	filters := make([]string, 0, len(info.Filtered))
	for f := range info.Filtered {
		filters = append(filters, f)
	}
	sort.Strings(filters)
	for _, f := range filters {
		paths := info.Filtered[f]
		if f == "lfs" {
			c.notice("%d files are Git LFS pointers inside (%s%s): `git lfs checkout` as a step fills them, or use --lower live", len(paths), paths[0], more(len(paths)))
		} else {
			c.notice("%d files are shown without the filter %q (%s%s)", len(paths), f, paths[0], more(len(paths)))
		}
	}
}

func more(n int) string {
	if n > 1 {
		return fmt.Sprintf(" and %d more", n-1)
	}
	return ""
}
