package discover

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// Discoverer finds resources. Safe for concurrent use.
type Discoverer struct {
	git  *gitx.Git
	home string
}

var _ engine.Discoverer = (*Discoverer)(nil)

// New returns a Discoverer. home is the person's home directory, canonical or
// not; empty when they have none.
func New(git *gitx.Git, home string) *Discoverer {
	if real, err := filepath.EvalSymlinks(home); err == nil && home != "" {
		home = real
	}
	return &Discoverer{git: git, home: home}
}

// Discover returns the resource that holds path, which may be relative to the
// working directory, go through links, and name a file. Errors: not_found (the
// path or the working directory is gone), denied, invalid (the root, a bare
// repository, a broken .git pointer), unsupported (a layout a sandbox cannot
// cover), unavailable (a checkout, but no git).
func (d *Discoverer) Discover(ctx context.Context, path string) (engine.Resource, error) {
	raw, err := absolute(path)
	if err != nil {
		return engine.Resource{}, err
	}
	dir, err := canonicalDir(raw)
	if err != nil {
		return engine.Resource{}, err
	}
	root, git, err := d.search(dir)
	if err != nil {
		return engine.Resource{}, err
	}
	res := engine.Resource{Type: engine.TypeFSDirectory, Path: dir}
	if git != nil {
		res.Type, res.Path = engine.TypeGitCheckout, root
		if res.Git, err = d.ask(ctx, root, git); err != nil {
			return engine.Resource{}, err
		}
	}
	if res.Path == "/" {
		return engine.Resource{}, fault.New(fault.Invalid, "find resource", "the root directory cannot be a resource").
			WithHint("name a directory below it")
	}
	res.Name = filepath.Base(res.Path)
	res.Spelled = spelling(raw, dir, res.Path)
	return res, nil
}

// absolute joins path to the working directory without touching "..": a link
// before it must be followed first, as the kernel does.
func absolute(path string) (string, error) {
	if path == "" {
		path = "."
	}
	if strings.Contains(path, "\x00") {
		return "", fault.New(fault.Invalid, "find resource", "%q is not a path", path)
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	cwd, err := os.Getwd()
	if err != nil {
		return "", fault.New(fault.NotFound, "find resource", "the working directory no longer exists").
			WithHint("change to a directory that exists").WithCause(err)
	}
	return cwd + "/" + path, nil
}

// canonicalDir resolves every link and dot. A file stands for its directory.
func canonicalDir(raw string) (string, error) {
	dir, err := filepath.EvalSymlinks(raw)
	if err != nil {
		return "", pathFault(raw, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", pathFault(raw, err)
	}
	if !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	// The working directory may have been removed while a process stands in it:
	// its name then resolves to nothing or to another directory.
	if f, err := os.Open(dir); err != nil {
		return "", pathFault(raw, err)
	} else if err := f.Close(); err != nil {
		return "", pathFault(raw, err)
	}
	return dir, nil
}

func pathFault(name string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fault.New(fault.NotFound, "find resource", "%s does not exist", name).WithCause(err).
			WithHint("check the spelling; a resource is a directory that exists")
	case errors.Is(err, os.ErrPermission):
		return fault.New(fault.Denied, "find resource", "you may not read %s", name).WithCause(err)
	case strings.Contains(err.Error(), "too many links"):
		return fault.New(fault.Invalid, "find resource", "%s goes round in links", name).WithCause(err)
	}
	return fault.Wrap(fault.Invalid, "find resource", err)
}

// search walks up from dir to the first git directory, as far as git would.
func (d *Discoverer) search(dir string) (root string, found *gitDirs, err error) {
	dev, err := deviceOf(dir)
	if err != nil {
		return "", nil, pathFault(dir, err)
	}
	for at := dir; at != "/"; at = filepath.Dir(at) {
		if here, err := deviceOf(at); err != nil || here != dev {
			return "", nil, nil //nolint:nilerr // what cannot be looked at is where git's search ends, too
		}
		found, err := lookAt(at)
		if err != nil || found != nil {
			return at, found, err
		}
		if at == d.home {
			return "", nil, nil
		}
	}
	return "", nil, nil
}

// spelling returns the person's own name for the resource: what they typed, with
// as many components taken away as the resource lies above the directory meant.
// Empty when it is no other name, or not provably one.
func spelling(raw, dir, resource string) string {
	spelled := filepath.Clean(raw)
	if info, err := os.Stat(raw); err != nil || !info.IsDir() {
		spelled = filepath.Dir(spelled)
	}
	if rel, err := filepath.Rel(resource, dir); err == nil && rel != "." {
		for range strings.Count(rel, "/") + 1 {
			spelled = filepath.Dir(spelled)
		}
	}
	if spelled == resource {
		return ""
	}
	a, errA := os.Stat(spelled)
	b, errB := os.Stat(resource)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return ""
	}
	return spelled
}

// ask lets git say what HEAD is, and that it agrees with what was found.
func (d *Discoverer) ask(ctx context.Context, root string, found *gitDirs) (*engine.GitInfo, error) {
	repo, err := d.git.Repo(gitx.Location{GitDir: found.gitDir, CommonDir: found.commonDir, WorkTree: root})
	if err != nil {
		return nil, err
	}
	if found.gitDir == found.commonDir {
		bare, err := repo.Bare(ctx)
		if err != nil {
			return nil, explain(err, root)
		}
		if bare {
			return nil, bareFault(found.gitDir)
		}
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return nil, explain(err, root)
	}
	return &engine.GitInfo{GitDir: found.gitDir, CommonDir: found.commonDir, Head: head.Commit, Branch: head.Branch}, nil
}

func explain(err error, root string) error {
	if fault.Is(err, fault.Unavailable) {
		f := fault.Wrap(fault.Unavailable, "look at the git checkout "+root, err)
		return f
	}
	return fault.Wrap("", "look at the git checkout "+root, err)
}

func bareFault(dir string) error {
	return fault.New(fault.Invalid, "find resource", "%s is a bare git repository: it has no files to work on", dir).
		WithHint("make a checkout of it (git -C %s worktree add DIR) and use that", dir)
}
