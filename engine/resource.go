package engine

import "context"

// Resource types that discovery can guess without a registry.
const (
	TypeGitCheckout = "git-checkout" // the work tree of a git repository, linked or not
	TypeFSDirectory = "fs-directory" // any other directory
)

// Resource is one thing a plan works on. Until a registry names resources, a
// resource is a path whose type was guessed.
type Resource struct {
	Name string `json:"name"` // for display; the base name of Path
	Type string `json:"type"` // TypeGitCheckout or TypeFSDirectory
	Path string `json:"path"` // canonical absolute path: no links, no dots
	// Spelled is Path as the user wrote it where that is another spelling of
	// the same directory (a link on the way); else empty. Both mean the sandbox.
	Spelled  string   `json:"spelled,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
	Git      *GitInfo `json:"git,omitempty"`
}

// GitInfo is what discovery learnt about a checkout.
type GitInfo struct {
	GitDir    string `json:"git_dir"`          // absolute; differs from CommonDir in a linked worktree
	CommonDir string `json:"common_dir"`       // absolute; where objects and refs live
	Head      string `json:"head"`             // commit id HEAD points at; empty before the first commit
	Branch    string `json:"branch,omitempty"` // full ref name; empty when detached
	Bare      bool   `json:"bare,omitempty"`
}

// Discoverer turns a path into the resource that holds it: the git checkout
// around it, else the directory itself. It never writes and never runs anything
// a tree could name.
type Discoverer interface {
	Discover(ctx context.Context, path string) (Resource, error)
}
