package cli

import (
	"github.com/ambit-run/ambit/engine"
	applygit "github.com/ambit-run/ambit/internal/apply/git"
	applytree "github.com/ambit-run/ambit/internal/apply/tree"
	"github.com/ambit-run/ambit/internal/gitx"
)

// targets are the ways in which a changeset is carried into a resource.
func targets(git *gitx.Git) []engine.Target {
	files := applytree.New(applytree.Options{})
	return []engine.Target{
		files,
		applygit.New(applygit.Config{Git: git, Files: files}, engine.ToCommit),
		applygit.New(applygit.Config{Git: git, Files: files}, engine.ToBranch),
	}
}
