package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

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
	// Git options (ToCommit, ToBranch).
	History *GitHistory // nil: one commit is built from Set and Src over the present tip
	Branch  string      // ToBranch: short name to publish; must not exist
	Message string      // for a flattened or history-less commit; trailers are added by the target
	Squash  bool        // one commit instead of the chain
	// Author is "Name <email>" for commits the target itself makes.
	Author string
	Now    time.Time
}

// ErrNotReviewed is the cause of a Prepare's conflict when the commits of a
// History do not amount to exactly the changes of the Set.
var ErrNotReviewed = errors.New("not what was reviewed")

// GitHistory is the plan's own history, as a hostile pack.
type GitHistory struct {
	// Pack is the absolute path of a pack file, written inside the confinement
	// by `git pack-objects --revs --stdout` for Tip without RealBase: never
	// thin, hostile, imported into quarantine by index-pack --strict and fsck.
	Pack string `json:"pack"`
	Base string `json:"base"` // commit the plan's chain stands on: RealBase, or a carry commit in the pack
	// RealBase is the commit of the real repository that the sandbox was made
	// from. Where it differs from Base, Base is the carry commit (the person's
	// uncommitted work) and must never be published.
	RealBase string `json:"real_base"`
	Tip      string `json:"tip"`
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
	// CheckUndo reports conflicts that Undo would meet, and a lack of space for it,
	// changing nothing.
	CheckUndo(ctx context.Context, state json.RawMessage) error
	// Abandon drops what Prepare staged for req.Dir = dir, also when Prepare was
	// cut off before it returned a state (state is nil then).
	Abandon(ctx context.Context, dir string, state json.RawMessage) error
}
