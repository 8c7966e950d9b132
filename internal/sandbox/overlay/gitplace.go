package overlay

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// gitPlace says where in the sandbox's layers a repository's folders lie.
type gitPlace struct {
	upper  string // the part of a layer that covers them: of the tree, or of the git volume
	root   string // the real directory that this part stands for
	common string // the common git directory, relative to root
	gitDir string // the git directory, relative to root
}

// separate reports whether the common git directory is a mount of its own: where
// it lies outside of the resource, and always over a frozen base, which has none.
func separate(r engine.Resource, lower engine.Lower) bool {
	return lower == engine.LowerFrozen || !inside(r.Path, r.Git.CommonDir)
}

func placeGit(r engine.Resource, lower engine.Lower) (gitPlace, error) {
	g := r.Git
	p := gitPlace{upper: partUpper, root: r.Path}
	if separate(r, lower) {
		p = gitPlace{upper: partGitUpper, root: g.CommonDir}
	}
	for _, dir := range []struct {
		path string
		rel  *string
	}{{g.CommonDir, &p.common}, {g.GitDir, &p.gitDir}} {
		if !inside(p.root, dir.path) {
			return p, fault.New(fault.Unsupported, "", "the git directory %s lies neither in %s nor in %s", dir.path, r.Path, g.CommonDir).
				WithHint("use copy_on_write, or a clone with a .git folder of its own")
		}
		*dir.rel = strings.TrimPrefix(strings.TrimPrefix(dir.path, p.root), "/")
		if *dir.rel == "" {
			*dir.rel = "."
		}
	}
	return p, nil
}

// repo opens the real repository.
func (s *Strategy) repo(r engine.Resource) (*gitx.Repo, error) {
	if s.git == nil {
		return nil, fault.New(fault.Unavailable, "", "%s is a git checkout, and there is no git program", r.Path).
			WithHint("install git")
	}
	return s.git.Repo(gitx.Location{GitDir: r.Git.GitDir, CommonDir: r.Git.CommonDir, WorkTree: r.Path})
}

// branchName is the branch that HEAD is on inside.
func branchName(plan string) string { return "refs/heads/ambit/" + plan }

// idLen is the length in bytes of the repository's object ids, told by one of them.
func idLen(id string) int {
	if len(id) == 64 {
		return 32
	}
	return 20
}

// indexLimit bounds how much of an index is read into memory: some million files.
const indexLimit = 512 << 20

// foreign finds the first entry of another owner or group in a resource: in a
// checkout among the files that git knows, by what its index remembers of them,
// then by a bounded look at the tree itself, which also meets folders, build
// output and what else git does not know.
func (s *Strategy) foreign(ctx context.Context, lower *fsop.Dir, r engine.Resource) (*foreign, error) {
	if r.Git != nil {
		f, err := s.foreignTracked(lower, r)
		if err != nil || f != nil {
			return f, err
		}
	}
	found, _, err := firstForeign(ctx, lower, s.uid, s.gid)
	if err != nil || found != nil || r.Git == nil || inside(r.Path, r.Git.CommonDir) {
		return found, err
	}
	common, err := s.openRoot(r.Git.CommonDir)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	if found, _, err = firstForeign(ctx, common, s.uid, s.gid); found != nil {
		found.path = filepath.Join(r.Git.CommonDir, found.path)
	}
	return found, err
}

func (s *Strategy) foreignTracked(lower *fsop.Dir, r engine.Resource) (*foreign, error) {
	gitDir, err := s.openRoot(r.Git.GitDir)
	if err != nil {
		return nil, err
	}
	defer gitDir.Close()
	raw, err := fsop.ReadFile(gitDir, "index", indexLimit)
	if err != nil {
		return nil, absent(err)
	}
	var found *foreign
	// An index that cannot be read is git's to complain about; the look at the
	// tree follows in any case.
	_, _ = eachIndexEntry(raw, idLen(r.Git.Head), func(e indexEntry) bool {
		if !e.stated || (e.uid == s.uid && e.gid == s.gid) {
			return true
		}
		info, err := lower.Stat(e.path) // the index may be older than a chown
		if err == nil && (info.UID != s.uid || info.GID != s.gid) {
			found = &foreign{e.path, info.UID, info.GID}
			return false
		}
		return true
	})
	return found, nil
}
