package cli

import (
	"github.com/ambit-run/ambit/engine"
	applygit "github.com/ambit-run/ambit/internal/apply/git"
	applytree "github.com/ambit-run/ambit/internal/apply/tree"
	"github.com/ambit-run/ambit/internal/gitx"
)

// targets are the ways in which a changeset is carried into a resource.
func targets(git *gitx.Git) []engine.Target {
	return []engine.Target{
		applytree.New(applytree.Options{}),
		applygit.New(applygit.Config{Git: git}, engine.ToCommit),
		applygit.New(applygit.Config{Git: git}, engine.ToBranch),
	}
}
