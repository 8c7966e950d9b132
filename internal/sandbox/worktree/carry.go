package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// carry brings the person's uncommitted work into the checkout and commits it
// there, so that none of it ever counts as the plan's. The commit is never
// published. No filter runs: a file that one would convert is stored as it lies.
func (f *filling) carry(ctx context.Context) error {
	paths := f.dirty.Paths()
	slices.Sort(paths)
	var touched, nested, special []string
	for _, p := range paths {
		if strings.HasSuffix(p, "/") {
			nested = append(nested, strings.TrimSuffix(p, "/"))
			continue
		}
		info, err := f.live.Stat(p)
		switch {
		case notThere(err) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.Denied):
			err = f.remove(p) // gone, or something else stands where its folder was
		case err != nil:
		case info.Kind == fsop.KindDir:
			nested = append(nested, p)
			continue
		case info.Kind == fsop.KindFile || info.Kind == fsop.KindSymlink:
			err = f.bring(ctx, p, info)
		default:
			special = append(special, p)
			continue
		}
		if err != nil {
			return err
		}
		touched = append(touched, p)
		delete(f.out.Known, p)
	}
	f.name(nested, "not carried, repositories inside the repository")
	f.name(special, "not carried, neither files nor links")
	if n := len(f.dirty.Unmerged); n > 0 {
		f.notice("%d files have unresolved conflicts: they are carried as they stand, markers included", n)
	}
	if len(touched) == 0 {
		return nil
	}
	in := strings.NewReader(strings.Join(touched, "\x00") + "\x00")
	if _, err := f.box.Run(ctx, gitx.Opts{Stdin: in}, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
		return err
	}
	tree, err := f.box.WriteTree(ctx)
	if err != nil {
		return err
	}
	if base, err := f.box.TreeOf(ctx, f.head.Commit); err != nil || base == tree {
		return err
	}
	who := gitx.Identity{Name: "ambit", Email: "ambit@localhost"}.Ident(f.req.Now.UTC())
	f.out.Carry, err = f.box.WriteCommit(ctx, gitx.Commit{
		Tree: tree, Parents: []string{f.head.Commit}, Author: who, Committer: who,
		Message: "Uncommitted work at the start of plan " + f.req.Plan + "\n",
	})
	if err == nil {
		f.notice("%d uncommitted paths come along; they are no part of the plan's changes or commits", len(touched))
	}
	return err
}

// bring copies one path of the live tree over what the checkout has.
func (f *filling) bring(ctx context.Context, path string, info fsop.Info) error {
	dir, _ := fsop.SplitRel(path)
	if err := f.makeRoom(dir); err != nil {
		return err
	}
	if err := f.tree.RemoveAll(path); err != nil {
		return err
	}
	if info.Kind == fsop.KindSymlink {
		text, err := f.live.Readlink(path)
		if err != nil {
			return err
		}
		return f.tree.Symlink(text, path)
	}
	_, err := fsop.CopyFile(ctx, f.live, path, f.tree, path, fsop.CopyOptions{})
	return err
}

// makeRoom makes a directory in the checkout, over files or links that have the
// name of one of its parents there but not in the live tree.
func (f *filling) makeRoom(dir string) error {
	if dir == "." {
		return nil
	}
	parent, _ := fsop.SplitRel(dir)
	if err := f.makeRoom(parent); err != nil {
		return err
	}
	info, err := f.tree.Stat(dir)
	if err == nil && info.Kind == fsop.KindDir {
		return nil
	}
	if err == nil {
		err = f.tree.Remove(dir)
	}
	if err != nil && !notThere(err) {
		return err
	}
	mode := uint32(0o755)
	if live, err := f.live.Stat(dir); err == nil && live.Kind == fsop.KindDir {
		mode = live.Mode
	}
	return f.tree.Mkdir(dir, mode)
}

// remove carries a deletion, and directories that it leaves empty.
func (f *filling) remove(path string) error {
	err := f.tree.RemoveAll(path)
	if fault.Is(err, fault.Conflict) {
		return nil // its folder went with another path
	}
	if err != nil {
		return err
	}
	for dir, _ := fsop.SplitRel(path); dir != "."; dir, _ = fsop.SplitRel(dir) {
		entries, err := f.tree.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			return nil //nolint:nilerr // what cannot be looked at is not ours to tidy
		}
		if _, err := f.live.Stat(dir); err == nil {
			return nil // empty in the live tree as well, but there
		}
		if err := f.tree.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// hash computes the SHA-256 of the base's files from git's objects while they are
// being checked out, on another processor. Files that git converts on the way out
// are left to be read. The returned function waits for the result.
func (f *filling) hash(ctx context.Context) func() (map[string]string, error) {
	known := map[string]string{}
	done := make(chan error, 1)
	go func() { done <- f.hashInto(ctx, known) }()
	return func() (map[string]string, error) {
		err := <-done
		return known, err
	}
}

func (f *filling) hashInto(ctx context.Context, known map[string]string) error {
	view := f.plain.WithWorkTree("").WithIndex("")
	if view.ConvertsLines() {
		return nil
	}
	entries, err := view.Tree(ctx, f.head.Commit)
	if err != nil {
		return err
	}
	var paths, ids []string
	for _, e := range entries {
		if e.Mode == gitx.ModeFile || e.Mode == gitx.ModeExec {
			paths, ids = append(paths, e.Path), append(ids, e.ID)
		}
		if e.Path == ".gitattributes" || strings.HasSuffix(e.Path, "/.gitattributes") {
			return nil // something may be converted: read what lies there
		}
	}
	return view.CatFiles(ctx, ids, func(i int, o gitx.Object) error {
		h := sha256.New()
		if _, err := io.Copy(h, o.R); err != nil {
			return err
		}
		known[paths[i]] = hex.EncodeToString(h.Sum(nil))
		return nil
	})
}
