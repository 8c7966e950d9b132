package engine

import (
	"context"
	"encoding/json"

	"github.com/ambit-run/ambit/changeset"
)

// ApplyTo names where an apply carries a changeset.
type ApplyTo string

// Apply destinations.
const (
	ToWorktree ApplyTo = "worktree" // files of the resource; the git index is not touched
	ToCommit   ApplyTo = "commit"   // commits on the checked-out branch, checkout updated where clean
	ToBranch   ApplyTo = "branch"   // commits published on a branch of their own, nothing else moves
)

// TargetRequest is one changeset to be carried into one real resource.
type TargetRequest struct {
	Plan     string
	Resource Resource
	// Dir is an absolute folder inside the plan's folder for staged contents,
	// pre-images and the target's own state. It survives until undo is given up.
	Dir string
	Set *changeset.Set
	Src changeset.Source
	// AllowSetuid keeps setuid, setgid and file capabilities, which are stripped otherwise.
	AllowSetuid bool
	// Merge allows a three-way merge of a text file that changed on both sides.
	Merge bool
	// Commits describes the history to publish (ToCommit, ToBranch); see GitHistory.
	History *GitHistory
}

// GitHistory is where a git target finds the plan's commits.
type GitHistory struct {
	// Objects is the absolute path of an object directory that holds the plan's
	// commits and is hostile: imported by index-pack --strict, its alternates refused.
	Objects  string `json:"objects"`
	Base     string `json:"base"`      // commit the plan's chain stands on (the carry commit, if any)
	RealBase string `json:"real_base"` // commit of the real repository the base stands for
	Tip      string `json:"tip"`
	Branch   string `json:"branch,omitempty"`  // ToBranch: short branch name to publish
	Message  string `json:"message,omitempty"` // subject for a flattened commit
	Squash   bool   `json:"squash,omitempty"`
}

// Target carries changesets into real resources of a kind. The engine calls it
// under the plan lock, in the order Prepare, (decision record), Commit, Verify,
// later perhaps Undo; Abandon instead of Commit when another target failed to
// prepare. Every method is idempotent and may be repeated by recovery in another
// process: all it needs lies in req.Dir and the state it returned.
type Target interface {
	To() ApplyTo
	// Prepare does everything that can fail: conflict check of every path
	// against the present target, contents staged on the target's file system
	// and fsynced, pre-images secured, git objects and merge results written.
	// The real resource is unchanged afterwards. A conflict is a *fault.Error of
	// code conflict whose Paths list every conflicting path.
	Prepare(ctx context.Context, req TargetRequest) (json.RawMessage, error)
	// Commit carries it out, path by path, each step idempotent.
	// If the target changed since Prepare the error has code identity_changed or
	// conflict and names the paths; the engine then decides to undo.
	Commit(ctx context.Context, state json.RawMessage) error
	// Verify re-reads the result and compares it with what was meant.
	Verify(ctx context.Context, state json.RawMessage) error
	// Undo returns the target to what it was before Commit, if it still is what
	// Commit left (or what a crashed Commit left half done). A path that is
	// neither is left alone, both versions kept, and named in a conflict.
	Undo(ctx context.Context, state json.RawMessage) error
	// CheckUndo reports conflicts that Undo would meet, changing nothing.
	CheckUndo(ctx context.Context, state json.RawMessage) error
	// Abandon drops what Prepare staged.
	Abandon(ctx context.Context, state json.RawMessage) error
}
