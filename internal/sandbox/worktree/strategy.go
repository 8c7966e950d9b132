package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox/copytree"
)

// Options are what the strategy works with.
type Options struct {
	// Git runs the host's git; nil where there is none: then Probe refuses.
	Git *gitx.Git
	// Intercept fails or ends the process at a file-system call: for tests.
	Intercept fsop.Intercept
}

// New returns the strategy git_worktree.
func New(opts Options) engine.Strategy {
	return copytree.NewFilled(&filler{git: opts.Git}, copytree.Options{Git: opts.Git, Intercept: opts.Intercept})
}

// filler makes checkouts. It keeps no state.
type filler struct{ git *gitx.Git }

var _ copytree.Filler = (*filler)(nil)

// Name returns StrategyGitWorktree.
func (f *filler) Name() engine.StrategyName { return engine.StrategyGitWorktree }

const (
	treeDir = "tree"
	gitName = ".git"
	// baseObjects is where, in the sandbox's git directory, the real objects
	// appear under namespaces of their own.
	baseObjects = "base-objects"
	includeFile = ".worktreeinclude"
)

// branchName is the branch that HEAD is on inside.
func branchName(plan string) string { return "refs/heads/ambit/" + plan }

// pinName is the reference that stands for a sandbox in the real repository: it
// pins the base, and by it everything else that was made there is known again.
func pinName(plan, id string) string { return "refs/ambit/" + plan + "/" + id }

// Probe says whether the resource can be checked out. It writes nothing.
func (f *filler) Probe(ctx context.Context, req engine.CreateRequest) (engine.Probe, error) {
	no := func(format string, args ...any) (engine.Probe, error) {
		why := fmt.Sprintf(format, args...)
		return engine.Probe{Reason: why, Missing: []string{why}}, nil
	}
	g := req.Resource.Git
	switch {
	case runtime.GOOS != "linux":
		return no("git_worktree needs Linux here: file access that is safe against races is not to be had on %s", runtime.GOOS)
	case g == nil:
		return no("%s is not a git checkout: use copy_on_write", req.Resource.Path)
	case f.git == nil:
		return no("git is needed for a checkout and is not to be had: install git")
	case g.Bare:
		return no("a bare repository has no files to work on: use a checkout of it")
	case g.Head == "":
		return no("%s has no commit yet: commit something first, or use copy_on_write", req.Resource.Path)
	}
	if _, err := f.git.Version(ctx); err != nil {
		return no("%s", err)
	}
	common, err := fsop.OpenRoot(g.CommonDir)
	if err != nil {
		return no("%s", err)
	}
	defer common.Close() //nolint:errcheck // nothing is pending in a directory handle
	if _, err := common.Stat("reftable"); err == nil {
		return no("references in the reftable format are not supported yet: use overlay")
	}
	dst, err := fsop.OpenRoot(req.Dir)
	if err != nil {
		return engine.Probe{}, err
	}
	defer dst.Close() //nolint:errcheck // nothing is pending in a directory handle
	info, err := dst.Statfs()
	if err != nil {
		return engine.Probe{}, err
	}
	if info.ReadOnly {
		return no("the file system of %s is read-only: point AMBIT_HOME elsewhere", req.Dir)
	}
	return engine.Probe{OK: true, Reason: "a checkout of its own from the commit that is checked out"}, nil
}

// open binds the resource's repository.
func (f *filler) open(r engine.Resource) (*gitx.Repo, error) {
	if f.git == nil || r.Git == nil {
		return nil, fault.New(fault.Unavailable, "", "%s needs git for a checkout", r.Path).WithHint("install git")
	}
	return f.git.Repo(gitx.Location{GitDir: r.Git.GitDir, CommonDir: r.Git.CommonDir, WorkTree: r.Path})
}

// Enter adds the real objects to a sandbox's entrance.
func (f *filler) Enter(rec engine.SandboxRecord, en *engine.Entrance) error {
	dirs, err := objectDirs(filepath.Join(rec.Resource.Git.CommonDir, "objects"))
	if err != nil {
		return err
	}
	for i, d := range dirs {
		m := engine.Mount{Kind: engine.MountBind, Source: d, Target: d, ReadOnly: true}
		if rec.Confined {
			m.Target = filepath.Join(rec.Resource.Path, gitName, objectsMount(i))
		} // else a confinement without mounts takes it for a path that must be readable
		en.Mounts = append(en.Mounts, m)
	}
	return nil
}

// objectsMount names the place of the i-th borrowed object directory.
func objectsMount(i int) string {
	if i == 0 {
		return baseObjects
	}
	return fmt.Sprintf("%s-%d", baseObjects, i)
}

// Again checks the base out once more, for contents that nobody kept.
func (f *filler) Again(ctx context.Context, rec engine.SandboxRecord, base, to string) error {
	repo, err := f.open(rec.Resource)
	if err != nil {
		return err
	}
	plain, err := repo.Plain(ctx)
	if err != nil {
		return err
	}
	return plain.WithWorkTree(to).WithIndex(strings.TrimRight(to, "/")+".index").Fill(ctx, base)
}

// contentsLimit bounds a base file that is read into memory for a review.
const contentsLimit = 512 << 20

// Contents reads one file of the base.
func (f *filler) Contents(ctx context.Context, rec engine.SandboxRecord, base, path string) ([]byte, error) {
	repo, err := f.open(rec.Resource)
	if err != nil {
		return nil, err
	}
	plain, err := repo.Plain(ctx)
	if err != nil {
		return nil, err
	}
	id, err := plain.RevID(ctx, base+":"+path)
	if err != nil {
		return nil, err
	}
	_, data, err := plain.ReadObject(ctx, id, contentsLimit)
	return data, err
}
