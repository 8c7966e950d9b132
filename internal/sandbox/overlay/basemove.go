package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// moveShare is how much of a tree may differ for moving a base to be worth it:
// beyond a third, checking everything out again is as fast and simpler.
const moveShare = 3

// move turns a base that nobody stands on into one of another commit by writing
// only what differs. false: there is none that is worth it. The base is renamed
// first, so that a crash leaves something half made under a name that says so.
func (b *repoBases) move(ctx context.Context, d *fsop.Dir, temp string, info *baseInfo) (bool, error) {
	old, err := b.idle(d)
	if err != nil || old == nil {
		return false, err
	}
	diffs, err := b.repo.DiffTrees(ctx, old.Tree, info.Tree)
	if err != nil {
		return false, nil //nolint:nilerr // the old commit is gone from the repository: start from nothing
	}
	if !worthMoving(diffs, b.count(ctx, old.Commit)) {
		return false, nil
	}
	if err := d.Rename(old.Commit, d, temp); err != nil {
		return false, err
	}
	if err := d.Remove(temp + "/" + baseRecord); err != nil {
		return false, err
	}
	info.MovedFrom = old.Commit
	tree, err := d.OpenDir(temp + "/" + baseTree)
	if err != nil {
		return false, err
	}
	defer tree.Close()
	view := b.view(temp)
	if err := clearOld(tree, diffs); err != nil {
		return false, err
	}
	// Merged one way, entries that stay the same keep their stat data.
	if _, err := view.Run(ctx, gitx.Opts{Values: []string{info.Tree}}, "read-tree", "--reset"); err != nil {
		return false, err
	}
	var write []string
	for _, x := range diffs {
		switch x.NewMode {
		case "000000":
		case gitx.ModeGitlink:
			if err := tree.MkdirAll(x.Path, 0o755); err != nil {
				return false, err
			}
		default:
			write = append(write, x.Path)
		}
	}
	if err := view.FillPaths(ctx, write); err != nil {
		return false, err
	}
	return true, nil
}

// worthMoving decides by the share of paths that differ. A change of attributes
// or of submodules can change files that the diff does not name.
func worthMoving(diffs []gitx.Diff, files int) bool {
	for _, x := range diffs {
		if x.Path == ".gitattributes" || strings.HasSuffix(x.Path, "/.gitattributes") ||
			x.OldMode == gitx.ModeGitlink || x.NewMode == gitx.ModeGitlink {
			return false
		}
	}
	return len(diffs)*moveShare <= files
}

func (b *repoBases) count(ctx context.Context, commit string) int {
	n := 0
	err := b.view(commit).EachZ(ctx, gitx.Opts{}, func(string) error { n++; return nil }, "ls-files", "-z")
	if err != nil {
		return 0 // an index that cannot be read is not worth moving
	}
	return n
}

// clearOld removes what the new tree does not have, and the directories that
// become empty by it, before anything is written: a file may take the place of a
// directory.
func clearOld(tree *fsop.Dir, diffs []gitx.Diff) error {
	var dirs []string
	for _, x := range diffs {
		if x.OldMode == "000000" {
			continue
		}
		if err := tree.Remove(x.Path); err != nil && absent(err) != nil {
			return err
		}
		for dir, _ := fsop.SplitRel(x.Path); dir != "."; dir, _ = fsop.SplitRel(dir) {
			dirs = append(dirs, dir)
		}
	}
	sort.Sort(sort.Reverse(sort.StringSlice(dirs))) // below before above
	for i, dir := range dirs {
		if i > 0 && dirs[i-1] == dir {
			continue
		}
		entries, err := tree.ReadDir(dir)
		if err != nil {
			if absent(err) == nil {
				continue
			}
			return err
		}
		if len(entries) > 0 {
			continue
		}
		if err := tree.Remove(dir); err != nil && absent(err) != nil {
			return err
		}
	}
	return nil
}

// idle finds the latest base that no sandbox stands on.
func (b *repoBases) idle(d *fsop.Dir) (*baseInfo, error) {
	entries, err := d.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var best *baseInfo
	for _, e := range entries {
		if !gitx.IsID(e.Name) {
			continue
		}
		info, err := readBase(d, e.Name)
		if err != nil || info.Commit != e.Name {
			continue
		}
		used, err := b.used(d, e.Name)
		if err != nil {
			return nil, err
		}
		if !used && (best == nil || info.MadeAt.After(best.MadeAt)) {
			best = info
		}
	}
	return best, nil
}

// used reports whether a sandbox stands on a base: one that is there, or whose
// plan lies in the trash and may be brought back.
func (b *repoBases) used(d *fsop.Dir, commit string) (bool, error) {
	marks, err := d.ReadDir(commit + "/" + baseUsers)
	if err != nil {
		return false, absent(err)
	}
	for _, m := range marks {
		raw, err := fsop.ReadFile(d, commit+"/"+baseUsers+"/"+m.Name, 64<<10)
		if err != nil {
			return true, absent(err) // if in doubt it is
		}
		user := strings.TrimSpace(string(raw))
		plan := filepath.Base(filepath.Dir(filepath.Dir(user))) // plans/<plan>/sandboxes/<id>
		for _, path := range []string{user, filepath.Join(b.state, "trash", plan)} {
			if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return true, nil
			}
		}
		if err := d.Remove(commit + "/" + baseUsers + "/" + m.Name); err != nil && absent(err) != nil {
			return false, fmt.Errorf("remove the claim of a sandbox that is gone: %w", err)
		}
	}
	return false, nil
}
