package copytree

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox/uncommitted"
)

// gitCopy gives the copy of a checkout a git directory of its own: whole, a
// folder even where the original has a pointer, on a branch of the plan.
//
// References are read first and in one go, objects last, so that a commit made
// meanwhile leaves no reference without its objects. What belongs to other
// worktrees stays behind, and so do locks.
type gitCopy struct {
	c      *creation
	info   *engine.GitInfo
	linked bool // GitDir is not CommonDir: a linked worktree
	real   *gitx.Repo
	head   gitx.Head
	refs   []gitx.Ref
	dirty  gitx.Dirty
	branch string
}

// readGit takes the snapshot of the references and judges uncommitted work.
func (c *creation) readGit(ctx context.Context) (*gitCopy, error) {
	info := c.req.Resource.Git
	if c.strat.git == nil {
		return nil, fault.New(fault.Unavailable, "", "git is needed for a checkout").WithHint("install git")
	}
	g := &gitCopy{c: c, info: info, linked: info.GitDir != info.CommonDir, branch: "refs/heads/ambit/" + c.req.Plan}
	var err error
	g.real, err = c.strat.git.Repo(gitx.Location{GitDir: info.GitDir, CommonDir: info.CommonDir, WorkTree: c.req.Resource.Path})
	if err != nil {
		return nil, err
	}
	if g.head, err = g.real.Head(ctx); err != nil {
		return nil, err
	}
	if g.refs, err = g.real.Refs(ctx); err != nil {
		return nil, err
	}
	for _, r := range g.refs {
		if r.Name == g.branch || strings.HasPrefix(g.branch, r.Name+"/") {
			return nil, fault.New(fault.Conflict, "", "the repository has %s already, and the plan needs %s", r.Name, g.branch).
				WithHint("rename that branch, or choose another plan")
		}
	}
	c.st.Base, c.st.Branch = g.head.Commit, g.branch
	if g.head.Branch == "" {
		c.notice("HEAD is detached at %.12s: the plan's branch starts there", g.head.Commit)
	}
	live := c.req.Lower == engine.LowerLive
	if g.head.Commit == "" || (live && c.req.Dirty != engine.DirtyRefuse) {
		return g, nil
	}
	plain, err := g.real.Plain(ctx)
	if err != nil {
		return nil, err
	}
	if g.dirty, err = plain.Dirty(ctx, g.head.Commit); err != nil {
		return nil, fmt.Errorf("look for uncommitted work: %w", err)
	}
	if err := judge(c.req, g.dirty); err != nil {
		return nil, err
	}
	return g, nil
}

// judge refuses uncommitted work that may not, or cannot, come along.
func judge(req engine.CreateRequest, d gitx.Dirty) error {
	switch {
	case d.Clean():
	case req.Dirty == engine.DirtyRefuse:
		return uncommitted.Refuse(req.Resource.Path, d)
	case req.Dirty == engine.DirtyHide:
		return fault.New(fault.Unsupported, "", "a copy cannot hide uncommitted work").
			WithHint("use overlay or git_worktree, or --dirty=carry")
	case len(d.Unmerged) > 0:
		return fault.New(fault.Conflict, "", "%s is in the middle of a merge", req.Resource.Path).WithPaths(first(d.Unmerged, 20)...).
			WithHint("finish or abort the merge first")
	}
	return nil
}

// Refuses is engine.Refuser.
func (s *Strategy) Refuses(ctx context.Context, req engine.CreateRequest) error {
	if s.fill != nil { // a checkout takes along what it can
		return edge("create sandbox", uncommitted.Check(ctx, s.git, req))
	}
	if req.Lower == engine.LowerLive && req.Dirty != engine.DirtyRefuse {
		return nil
	}
	d, err := uncommitted.Look(ctx, s.git, req)
	if err == nil {
		err = judge(req, d)
	}
	return edge("create sandbox", err)
}

func first(paths []string, n int) []string { return paths[:min(n, len(paths))] }

func (g *gitCopy) run(ctx context.Context, tree *fsop.Dir) error {
	if err := g.admin(ctx, tree); err != nil {
		return err
	}
	if err := g.references(tree); err != nil {
		return err
	}
	if err := g.objects(ctx, tree); err != nil {
		return err
	}
	if err := g.pinWorkTree(tree, gitName, "..", g.linked); err != nil {
		return err
	}
	for _, p := range g.c.pointers {
		if err := g.mend(tree, p); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	return g.branchOff(ctx, tree)
}

// leftBehind are entries of a git directory that are made anew, belong to other
// worktrees or are a running command's. Those of a worktree of its own stay
// behind too when they are another's.
func leftBehind(name string) bool {
	switch name {
	case "objects", "refs", "packed-refs", "worktrees", "commondir", "gitdir", "locked", "gc.pid":
		return true
	}
	return strings.HasSuffix(name, ".lock")
}

// ofWorktree tells what in the common directory is the main worktree's own.
func ofWorktree(p string) bool {
	switch p {
	case "HEAD", "index", "logs/HEAD", "config.worktree", "info/sparse-checkout", "modules", "MERGE_MSG", "MERGE_MODE", "MERGE_RR",
		"SQUASH_MSG", "COMMIT_EDITMSG", "AUTO_MERGE", "rebase-merge", "rebase-apply", "sequencer":
		return true
	}
	return !strings.Contains(p, "/") && (strings.HasSuffix(p, "_HEAD") || strings.HasPrefix(p, "BISECT_") || strings.HasPrefix(p, "sharedindex."))
}

// admin copies everything but references and objects.
func (g *gitCopy) admin(ctx context.Context, tree *fsop.Dir) error {
	copyDir := func(from string, exclude func(p string) bool) error {
		d, err := g.c.strat.openRoot(from)
		if err != nil {
			return err
		}
		defer d.Close()
		opts := g.c.options()
		opts.Exclude = func(p string, _ fsop.Info) bool {
			top, _, _ := strings.Cut(p, "/")
			return (top == p && leftBehind(top)) || exclude(p)
		}
		opts.Entry = g.learn(gitName)
		st, err := fsop.CopyTree(ctx, d, ".", tree, gitName, opts)
		g.c.count(st)
		return err
	}
	if err := copyDir(g.info.CommonDir, func(p string) bool { return g.linked && ofWorktree(p) }); err != nil || !g.linked {
		return err
	}
	return copyDir(g.info.GitDir, func(string) bool { return false })
}

// learn remembers the hashes of what is copied to a place in the tree.
func (g *gitCopy) learn(at string) func(string, fsop.Info, string, bool) {
	return func(p string, _ fsop.Info, sha256 string, _ bool) {
		if sha256 != "" {
			g.c.known[fsop.Join(at, p)] = rawOf(sha256)
		}
	}
}

// references writes the snapshot: loose files are few, so that nothing that
// packs or moves references outside can come between.
func (g *gitCopy) references(tree *fsop.Dir) error {
	if _, err := tree.Stat(gitName + "/reftable"); err == nil {
		return fault.New(fault.Unsupported, "", "references in the reftable format cannot be copied yet").
			WithHint("use overlay or git_worktree")
	}
	for _, d := range []string{"refs/heads", "refs/tags"} {
		if err := tree.MkdirAll(gitName+"/"+d, 0o755); err != nil {
			return err
		}
	}
	packed := []byte(gitx.PackedRefs(g.refs))
	if err := writeNew(tree, gitName+"/packed-refs", packed, 0o644); err != nil {
		return err
	}
	for _, r := range g.refs {
		if r.Target == "" {
			continue
		}
		at := gitName + "/" + r.Name
		if err := tree.MkdirAll(path.Dir(at), 0o755); err != nil {
			return err
		}
		if err := writeNew(tree, at, []byte("ref: "+r.Target+"\n"), 0o644); err != nil {
			return err
		}
	}
	return fsop.WriteFileAtomic(g.c.dir, refsFile, packed, 0o600)
}

// writeNew makes a file of the copy in the place of what has its name. It need
// not survive a crash: then the whole copy is made again.
func writeNew(tree *fsop.Dir, path string, data []byte, mode uint32) error {
	if err := tree.RemoveAll(path); err != nil {
		return err
	}
	f, err := tree.Create(path, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// branchOff puts HEAD on the plan's branch and carries uncommitted work. The
// copy has been written by nobody else yet, so git may run on it.
func (g *gitCopy) branchOff(ctx context.Context, tree *fsop.Dir) error {
	at := g.c.req.Dir + "/" + treeDir
	repo, err := g.c.strat.git.Repo(gitx.Location{GitDir: at + "/" + gitName, WorkTree: at})
	if err != nil {
		return err
	}
	start := g.head.Commit
	if g.c.req.Lower != engine.LowerLive && !g.dirty.Clean() {
		if start, err = g.carry(ctx, tree, repo); err != nil {
			return fmt.Errorf("carry uncommitted work: %w", err)
		}
	}
	if start != "" {
		if err := repo.UpdateRefs(ctx, "ambit: start of plan "+g.c.req.Plan, gitx.RefChange{Name: g.branch, New: start}); err != nil {
			return err
		}
	}
	if _, err := repo.Run(ctx, gitx.Opts{Values: []string{"HEAD", g.branch}}, "symbolic-ref"); err != nil {
		return err
	}
	// What git wrote is not what was copied.
	for p := range g.c.known {
		if p == gitName+"/HEAD" || p == gitName+"/index" || strings.HasPrefix(p, gitName+"/logs/") {
			delete(g.c.known, p)
		}
	}
	return nil
}
