package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox/copytree"
	"github.com/ambit-run/ambit/internal/sandbox/uncommitted"
)

// filling is one making of a checkout.
type filling struct {
	req  engine.CreateRequest
	dir  *fsop.Dir // req.Dir
	tree *fsop.Dir
	live *fsop.Dir // the resource

	repo  *gitx.Repo
	plain *gitx.Repo // the real objects, index and files
	box   *gitx.Repo // the sandbox's own: its objects, index and files
	out   copytree.Filled
	refs  []gitx.Ref
	head  gitx.Head
	dirty gitx.Dirty
}

func (f *filling) notice(format string, args ...any) {
	f.out.Notices = append(f.out.Notices, fmt.Sprintf(format, args...))
}

// name makes a notice of a list of paths: the count, and the first of them.
func (f *filling) name(paths []string, what string) {
	const most = 5
	slices.Sort(paths)
	switch n := len(paths); {
	case n == 0:
	case n <= most:
		f.notice("%s: %s", what, strings.Join(paths, ", "))
	default:
		f.notice("%s: %s and %d more", what, strings.Join(paths[:most], ", "), n-most)
	}
}

// Fill makes the checkout in req.Dir. What a Fill that was cut off registered in
// the real repository is taken back first.
func (f *filler) Fill(ctx context.Context, req engine.CreateRequest, dir *fsop.Dir, phase func(string)) (copytree.Filled, error) {
	w := &filling{req: req, dir: dir}
	defer w.close()
	if err := w.run(ctx, f, phase); err != nil {
		return copytree.Filled{}, err
	}
	return w.out, nil
}

func (f *filling) close() {
	for _, d := range []*fsop.Dir{f.tree, f.live} {
		if d != nil {
			_ = d.Close() // nothing is pending in a directory handle
		}
	}
}

func (f *filling) run(ctx context.Context, by *filler, phase func(string)) error {
	if err := f.look(ctx, by); err != nil {
		return err
	}
	phase("prepare")
	reg, err := by.registration(f.req.Resource, f.req.Plan, f.req.ID, f.req.Dir, f.head.Commit, f.req.Confined)
	if err != nil {
		return err
	}
	if err := reg.drop(ctx); err != nil {
		return err
	}
	if err := reg.make(ctx); err != nil {
		return errors.Join(err, f.takeBack(ctx, reg))
	}
	if err := f.fill(ctx, phase); err != nil {
		return errors.Join(err, f.takeBack(ctx, reg))
	}
	return nil
}

// takeBack leaves nothing behind of a creation that failed (C16).
func (f *filling) takeBack(ctx context.Context, reg *registration) error {
	ctx = context.WithoutCancel(ctx)
	if err := f.dir.RemoveAll(treeDir); err != nil {
		return err
	}
	return reg.drop(ctx)
}

// look reads what the checkout is made from.
func (f *filling) look(ctx context.Context, by *filler) (err error) {
	if f.repo, err = by.open(f.req.Resource); err != nil {
		return err
	}
	if f.plain, err = f.repo.Plain(ctx); err != nil {
		return err
	}
	if f.head, err = f.repo.Head(ctx); err != nil {
		return err
	}
	if f.head.Commit == "" {
		return fault.New(fault.Unsupported, "", "%s has no commit yet", f.req.Resource.Path).
			WithHint("commit something first, or use copy_on_write")
	}
	if f.head.Branch == "" { // O42
		f.notice("HEAD is detached at %.12s: the plan's branch starts there", f.head.Commit)
	}
	if f.refs, err = f.repo.Refs(ctx); err != nil {
		return err
	}
	if f.live, err = fsop.OpenRoot(f.req.Resource.Path); err != nil {
		return err
	}
	if f.dirty, err = f.plain.Dirty(ctx, f.head.Commit); err != nil {
		return fmt.Errorf("look for uncommitted work: %w", err)
	}
	if f.req.Dirty == engine.DirtyRefuse {
		if err := uncommitted.Refuse(f.req.Resource.Path, f.dirty); err != nil {
			return err
		}
	}
	f.out.Base = f.head.Commit
	f.out.Branch = branchName(f.req.Plan)
	f.out.Refs = []byte(gitx.PackedRefs(f.refs))
	return nil
}

// fill makes files and git directory.
func (f *filling) fill(ctx context.Context, phase func(string)) (err error) {
	if err := f.dir.MkdirAll(treeDir, 0o755); err != nil {
		return err
	}
	if f.tree, err = f.dir.OpenDir(treeDir); err != nil {
		return err
	}
	// The pointer that git worktree add wrote makes room for a directory.
	if err := f.tree.RemoveAll(gitName); err != nil {
		return err
	}
	if err := f.gitDir(ctx); err != nil {
		return fmt.Errorf("make the git directory: %w", err)
	}
	at := filepath.Join(f.req.Dir, treeDir)
	f.box = f.plain.WithWorkTree(at).WithIndex(filepath.Join(at, gitName, "index")).WithObjects(filepath.Join(at, gitName, "objects"))
	hashes := f.hash(ctx)
	fillErr := f.box.Fill(ctx, f.head.Commit)
	f.out.Known, err = hashes()
	if err = errors.Join(fillErr, err); err != nil {
		return fmt.Errorf("check out %.12s: %w", f.head.Commit, err)
	}
	if err := f.verify(ctx); err != nil {
		return err
	}
	phase("checkout")
	if err := f.leftovers(ctx); err != nil {
		return err
	}
	if !f.dirty.Clean() && f.req.Dirty != engine.DirtyHide {
		if err := f.carry(ctx); err != nil {
			return fmt.Errorf("carry uncommitted work: %w", err)
		}
	}
	phase("carry")
	if err := f.include(ctx); err != nil {
		return err
	}
	phase("include")
	return f.head2branch()
}

// verify makes sure that what was checked out is the base, path by path (C21).
func (f *filling) verify(ctx context.Context) error {
	tree, err := f.box.WriteTree(ctx)
	if err != nil {
		return err
	}
	want, err := f.box.TreeOf(ctx, f.head.Commit)
	if err != nil {
		return err
	}
	stale, err := f.box.StatDirty(ctx)
	if err != nil {
		return err
	}
	var off []string
	for _, d := range stale {
		if d.OldMode != gitx.ModeGitlink {
			off = append(off, d.Path)
		}
	}
	if tree != want || len(off) > 0 {
		return fault.New(fault.Internal, "", "the checkout is not what %.12s holds", f.head.Commit).WithPaths(off[:min(20, len(off))]...).
			WithHint("a name that this file system cannot hold, or a full disk, may be the reason; try copy_on_write")
	}
	return nil
}

// leftovers says what a checkout does not bring (C24, C25, C26, C32, C33).
func (f *filling) leftovers(ctx context.Context) error {
	l, err := f.box.Leftovers(ctx)
	if err != nil {
		return err
	}
	f.name(l.Submodules, "submodules are empty; fill them inside with git submodule update --init, network permitting")
	for _, filter := range slices.Sorted(keys(l.Filtered)) {
		f.name(l.Filtered[filter], fmt.Sprintf("files hold what git stores, not what the filter %q makes of it", filter))
	}
	return nil
}

func keys(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// head2branch puts HEAD on the plan's branch, at the base or the carry commit.
func (f *filling) head2branch() error {
	tip := f.out.Carry
	if tip == "" {
		tip = f.head.Commit
	}
	name := gitName + "/" + f.out.Branch
	parent, _ := fsop.SplitRel(name)
	if err := f.tree.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	if err := fsop.WriteFileAtomic(f.tree, name, []byte(tip+"\n"), 0o644); err != nil {
		return err
	}
	return fsop.WriteFileAtomic(f.tree, gitName+"/HEAD", []byte("ref: "+f.out.Branch+"\n"), 0o644)
}

func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
