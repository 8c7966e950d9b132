package overlay

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// includeFile lists, in the syntax of ignore files, which ignored files a
// checkout at another place needs.
const includeFile = ".worktreeinclude"

// ignoredLayers decides how ignored files are seen over a frozen base: all of
// them, from the live tree; or, where the project has a .worktreeinclude, copies
// of those that it names and nothing else.
func (c *creation) ignoredLayers(ctx context.Context, lower *fsop.Dir, repo *gitx.Repo, w *work) error {
	info, err := lower.Stat(includeFile)
	if err != nil {
		if absent(err) != nil {
			return err
		}
		return c.maskLayers(ctx, lower, w)
	}
	if info.Kind != fsop.KindFile {
		return fault.New(fault.Invalid, "", "%s is a %s", includeFile, info.Kind).WithHint("make it a file of patterns, or remove it")
	}
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-from=" + filepath.Join(lower.Name(), includeFile)}
	for _, glob := range c.req.Include {
		if strings.ContainsAny(glob, "\x00\n") || glob == "" {
			return fault.New(fault.Invalid, "", "%q is no pattern", glob)
		}
		args = append(args, "--exclude="+glob)
	}
	var matching []string
	if err := repo.EachZ(ctx, gitx.Opts{}, func(p string) error { matching = append(matching, p); return nil }, args...); err != nil {
		return err
	}
	if err := c.dir.Mkdir(includeDir, 0o700); err != nil {
		return err
	}
	layer, err := c.dir.OpenDir(includeDir)
	if err != nil {
		return err
	}
	defer layer.Close()
	ignored := newIgnored(w.ignored)
	copied, left := 0, len(w.ignored)
	for _, p := range matching {
		if !ignored.has(p) {
			continue
		}
		ok, err := includeOne(ctx, lower, layer, p)
		if err != nil {
			return fmt.Errorf("bring %q along: %w", p, err)
		}
		if ok {
			copied++
		}
	}
	if left > 0 {
		c.notice("%s: %d ignored files were copied; other ignored paths are not seen inside", includeFile, copied)
	}
	c.sb.st.Tree.Bottom = append(c.sb.st.Tree.Bottom, layerRef{Kind: layerInclude, Path: filepath.Join(c.req.Dir, includeDir)})
	return nil
}

// includeOne copies one file or link; what it names is looked up beneath the
// resource, whatever the list says (C38).
func includeOne(ctx context.Context, lower, layer *fsop.Dir, path string) (bool, error) {
	if strings.HasSuffix(path, "/") {
		return false, nil // a repository inside the repository
	}
	info, err := lower.Stat(path)
	if err != nil {
		return false, absent(err)
	}
	if err := mkdirsLike(layer, lower, path); err != nil {
		return false, err
	}
	switch info.Kind {
	case fsop.KindFile:
		_, err := fsop.CopyFile(ctx, lower, path, layer, path, fsop.CopyOptions{})
		return err == nil, err
	case fsop.KindSymlink:
		text, err := lower.Readlink(path)
		if err != nil {
			return false, err
		}
		return true, layer.Symlink(text, path)
	default:
		return false, nil
	}
}

// ignoredSet answers whether a path is ignored, by git's list.
type ignoredSet struct{ exact, dirs map[string]bool }

func newIgnored(list []string) ignoredSet {
	s := ignoredSet{exact: map[string]bool{}, dirs: map[string]bool{}}
	for _, p := range list {
		if d, ok := strings.CutSuffix(p, "/"); ok {
			s.dirs[d] = true
		} else {
			s.exact[p] = true
		}
	}
	return s
}

func (s ignoredSet) has(path string) bool {
	if s.exact[path] {
		return true
	}
	for dir, _ := fsop.SplitRel(path); dir != "."; dir, _ = fsop.SplitRel(dir) {
		if s.dirs[dir] {
			return true
		}
	}
	return false
}
