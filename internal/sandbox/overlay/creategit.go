package overlay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// openGit decides how the repository is mounted and reads its references: what
// both kinds of lower need.
func (c *creation) openGit(ctx context.Context) (gitPlace, []gitx.Ref, error) {
	st := c.sb.st
	r := st.Resource
	at, err := placeGit(r, st.Lower)
	if err != nil {
		return at, nil, err
	}
	if separate(r, st.Lower) {
		if err := c.gitVolume(); err != nil {
			return at, nil, err
		}
	}
	repo, err := c.strat.repo(r)
	if err != nil {
		return at, nil, err
	}
	refs, err := repo.Refs(ctx)
	if err != nil {
		return at, nil, err
	}
	st.Branch = branchName(st.Plan)
	st.Base = r.Git.Head
	for _, ref := range refs {
		if ref.Name == r.Git.Branch {
			st.Base = ref.Object // what it is now, which may be later than the discovery
		}
	}
	if r.Git.Branch == "" {
		c.notice("HEAD is detached at %.12s: inside it is on the branch %s", st.Base, short(st.Branch))
	}
	borrowed, err := alternates(filepath.Join(r.Git.CommonDir, "objects"))
	if err != nil {
		return at, nil, err
	}
	for _, path := range borrowed {
		if !inside(r.Path, path) && !inside(r.Git.CommonDir, path) { // else it is seen as it is
			st.Alternates = append(st.Alternates, path)
		}
	}
	return at, refs, nil
}

// gitVolume mounts the common git directory by itself.
func (c *creation) gitVolume() error {
	st := c.sb.st
	g := st.Resource.Git
	d, err := c.strat.openRoot(g.CommonDir)
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := d.Stat(".")
	if err != nil {
		return err
	}
	st.Git = &volume{
		Target: g.CommonDir, Real: g.CommonDir, Identity: identityOf(info, c.strat.boot),
		Bottom: []layerRef{{Kind: layerLive, Path: g.CommonDir}},
	}
	if rest, ok := strings.CutPrefix(g.CommonDir, st.Resource.Path+"/"); ok {
		for _, a := range st.Tree.Aliases {
			st.Git.Aliases = append(st.Git.Aliases, a+"/"+rest)
		}
	} else if a := spelledCommon(st.Resource); a != "" {
		st.Git.Aliases = append(st.Git.Aliases, a)
	}
	return nil
}

// spelledCommon is the path of the common directory as the checkout's own
// pointer file spells it, where that goes through links: git inside follows it.
func spelledCommon(r engine.Resource) string {
	raw, err := os.ReadFile(filepath.Join(r.Path, ".git"))
	if err != nil {
		return ""
	}
	ptr, ok := strings.CutPrefix(strings.TrimRight(string(raw), "\r\n"), "gitdir: ")
	if !ok || !filepath.IsAbs(ptr) {
		return ""
	}
	tail := strings.TrimPrefix(r.Git.GitDir, r.Git.CommonDir)
	spelled := strings.TrimSuffix(filepath.Clean(ptr), tail)
	if spelled == r.Git.CommonDir || spelled+tail != filepath.Clean(ptr) {
		return ""
	}
	return spelled
}

// liveGit prepares a checkout that is seen as it stands: its own branch,
// references and index, everything else shining through.
func (c *creation) liveGit(ctx context.Context, lower *fsop.Dir) error {
	st := c.sb.st
	at, refs, err := c.openGit(ctx)
	if err != nil {
		return err
	}
	c.phase("refs")
	f, err := c.prepLayer(at)
	if err != nil {
		return err
	}
	defer f.close()
	if what := f.unfinished(); what != "" {
		c.notice("%s is under way in the checkout: it is not seen inside, and no part of the plan", what)
	}
	if err := f.git(ctx, refs, st.Branch, st.Base, true); err != nil {
		return err
	}
	c.phase("git")
	return c.liveNotices(lower)
}

// prepLayer makes the layer that holds what Create prepares, the lowest of the
// sandbox's own, and opens the part of it that covers the git directory.
func (c *creation) prepLayer(at gitPlace) (*freezer, error) {
	st := c.sb.st
	name := layerName(st.Next)
	st.Next++
	if err := c.sb.makeLayer(c.dir, name, nil, false); err != nil {
		return nil, err
	}
	st.Layers = append(st.Layers, name)
	layer, err := c.dir.OpenDir(layersDir + "/" + name + "/" + at.upper)
	if err != nil {
		return nil, err
	}
	real, err := c.strat.openRoot(at.root)
	if err != nil {
		return nil, errors.Join(err, layer.Close())
	}
	return &freezer{real: real, layer: layer, at: at, made: map[string]bool{}}, nil
}

func (f *freezer) close() { _ = errors.Join(f.real.Close(), f.layer.Close()) }

const alternatesDepth = 5 // git's own limit

// alternates lists the object directories that a repository borrows from, and
// those that these borrow from in turn.
func alternates(objects string) ([]string, error) {
	var out []string
	seen := map[string]bool{objects: true}
	level := []string{objects}
	for range alternatesDepth {
		var next []string
		for _, dir := range level {
			raw, err := os.ReadFile(filepath.Join(dir, "info", "alternates"))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(string(raw)) {
				path := strings.TrimRight(line, "\r\n")
				if path == "" || path[0] == '#' {
					continue
				}
				if !filepath.IsAbs(path) {
					path = filepath.Join(dir, path)
				}
				real, err := filepath.EvalSymlinks(path)
				if err != nil {
					continue // git, too, only warns
				}
				if !seen[real] {
					seen[real] = true
					next = append(next, real)
					out = append(out, real)
					if clean := filepath.Clean(path); clean != real && !seen[clean] {
						seen[clean] = true
						out = append(out, clean)
					}
				}
			}
		}
		level = next
	}
	return out, nil
}

// noticeLimit bounds how much of a .gitmodules file is read.
const noticeLimit = 1 << 20

// liveNotices names what a step may miss in a checkout as it stands.
func (c *creation) liveNotices(lower *fsop.Dir) error {
	raw, err := fsop.ReadFile(lower, ".gitmodules", noticeLimit)
	if err != nil {
		if absent(err) == nil || fault.Is(err, fault.Invalid) {
			return nil
		}
		return err
	}
	for line := range strings.Lines(string(raw)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		path := strings.Trim(strings.TrimSpace(value), `"`)
		if !ok || strings.TrimSpace(key) != "path" || fsop.CheckRel(path) != nil || path == "." {
			continue
		}
		if _, err := lower.Stat(path + "/.git"); err != nil && absent(err) == nil {
			c.notice("submodule %s is not initialised: its folder is empty inside too (git submodule update --init in the checkout fills it)", path)
		}
	}
	return nil
}
