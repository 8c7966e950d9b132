package overlay

import (
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
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
