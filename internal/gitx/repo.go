package gitx

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ambit-run/ambit/fault"
)

// Location names one repository. All paths are absolute and exactly what git is
// told; nothing is searched for.
type Location struct {
	GitDir    string // HEAD and the index live here
	CommonDir string // objects and references live here; equals GitDir but in a linked worktree
	WorkTree  string // empty for work that touches no file
}

// Repo is one repository seen one way: with its own git directory, or Plain.
type Repo struct {
	git   *Git
	loc   Location
	plain bool

	gitDir     string   // GIT_DIR
	workTree   string   // GIT_WORK_TREE; empty = none
	index      string   // GIT_INDEX_FILE; empty = GIT_DIR's own
	objects    string   // GIT_OBJECT_DIRECTORY; empty = GIT_DIR's own
	alternates []string // GIT_ALTERNATE_OBJECT_DIRECTORIES
	shallow    string   // GIT_SHALLOW_FILE; empty = GIT_DIR's own
	settings   []setting

	shared *repoShared
}

// repoShared is what all views of one repository read once.
type repoShared struct {
	mu  sync.Mutex
	cfg *repoConfig
}

// Repo binds g to a repository. It reads nothing. Errors: invalid when a path is
// not absolute or holds a byte that git's own files cannot carry.
func (g *Git) Repo(loc Location) (*Repo, error) {
	if loc.CommonDir == "" {
		loc.CommonDir = loc.GitDir
	}
	for _, p := range []string{loc.GitDir, loc.CommonDir, loc.WorkTree} {
		if p == "" && p == loc.WorkTree {
			continue
		}
		if err := checkAbs(p); err != nil {
			return nil, err
		}
	}
	return &Repo{git: g, loc: loc, gitDir: loc.GitDir, workTree: loc.WorkTree, shared: &repoShared{}}, nil
}

func checkAbs(p string) error {
	if !filepath.IsAbs(p) || strings.ContainsAny(p, "\x00\n\r") {
		return fault.New(fault.Invalid, "open repository", "%q is not an absolute path that git can carry", p)
	}
	return nil
}

// Location returns what the repository was opened with.
func (r *Repo) Location() Location { return r.loc }

// ObjectDir returns the repository's own object directory.
func (r *Repo) ObjectDir() string { return filepath.Join(r.loc.CommonDir, "objects") }

// IndexFile returns the index that this view uses.
func (r *Repo) IndexFile() string {
	if r.index != "" {
		return r.index
	}
	return filepath.Join(r.loc.GitDir, "index")
}

// Plain returns the view for work on objects, indexes and files (see the package
// comment). Index and work tree are the repository's own until With… replaces
// them. It reads the repository's configuration the first time.
func (r *Repo) Plain(ctx context.Context) (*Repo, error) {
	if r.plain {
		return r, nil
	}
	cfg, err := r.config(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := r.git.plainDir(cfg.format)
	if err != nil {
		return nil, err
	}
	if err := linkSplit(r.loc.GitDir, dir); err != nil {
		return nil, fault.Wrap(fileCode(err), "prepare git", err)
	}
	p := *r
	p.plain = true
	p.gitDir = dir
	p.objects = r.ObjectDir()
	p.index = filepath.Join(r.loc.GitDir, "index")
	p.settings = append(slices.Clone(cfg.inert), setting{"core.excludesFile", cfg.excludes})
	// The attributes of info/attributes are data here: no driver is defined.
	if attrs := filepath.Join(r.loc.CommonDir, "info", "attributes"); isRegular(attrs) {
		p.settings = append(p.settings, setting{"core.attributesFile", attrs})
	}
	if sh := filepath.Join(r.loc.CommonDir, "shallow"); isRegular(sh) {
		p.shallow = sh
	}
	return &p, nil
}

// WithIndex returns a copy that uses the index file at an absolute path, which
// need not exist.
func (r *Repo) WithIndex(path string) *Repo {
	c := *r
	c.index = path
	return &c
}

// WithWorkTree returns a copy whose files lie at an absolute path.
func (r *Repo) WithWorkTree(path string) *Repo {
	c := *r
	c.workTree = path
	return &c
}

// WithObjects returns a copy that writes new objects into the object directory at
// dir and reads, beside it, from the present one and its alternates.
func (r *Repo) WithObjects(dir string) *Repo {
	c := *r
	present := r.objects
	if present == "" {
		present = r.ObjectDir()
	}
	c.alternates = append([]string{present}, r.alternates...)
	c.objects = dir
	return &c
}

// plainDir makes the configuration-free git directory for an object format.
func (g *Git) plainDir(format string) (string, error) {
	if !filepath.IsAbs(g.cfg.Dir) {
		return "", fault.New(fault.Internal, "prepare git", "no folder for private git directories was given")
	}
	dir := filepath.Join(g.cfg.Dir, "plain-"+format)
	if isRegular(filepath.Join(dir, "HEAD")) {
		return dir, nil
	}
	return dir, layOut(dir, format)
}

// layOut makes a bare git directory without configuration, hooks, templates or
// references at an absolute path, which may exist. HEAD is written last, so a
// directory that has one is complete. The format is "sha1" or "sha256".
func layOut(dir, format string) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	switch format {
	case "sha1":
	case "sha256":
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n"
	default:
		return fault.New(fault.Unsupported, "prepare git", "unknown object format %q", format)
	}
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return fault.Wrap(fileCode(err), "prepare git", err)
		}
	}
	for _, f := range []struct{ name, data string }{{"config", config}, {"HEAD", "ref: refs/heads/none\n"}} {
		if err := writeNew(filepath.Join(dir, f.name), f.data); err != nil {
			return fault.Wrap(fileCode(err), "prepare git", err)
		}
	}
	return nil
}

// writeNew writes a small file so that concurrent writers of the same content
// never show a partial one.
func writeNew(path, data string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to report
		}
	}()
	if _, err = f.WriteString(data); err != nil {
		_ = f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
