package engine

import (
	"context"
	"time"

	"github.com/ambit-run/ambit/changeset"
)

// StrategyName names a way to isolate a boundary (page "sandboxes").
type StrategyName string

// Strategies. Auto is a request, never a record.
const (
	StrategyAuto           StrategyName = "auto"
	StrategyOverlay        StrategyName = "overlay"
	StrategyGitWorktree    StrategyName = "git_worktree"
	StrategyCopyOnWrite    StrategyName = "copy_on_write"
	StrategyFilesystemCopy StrategyName = "filesystem_copy"
	StrategyNone           StrategyName = "none"
)

// Lower says what an overlay stands on.
type Lower string

// Lower layers.
const (
	LowerFrozen Lower = "frozen" // a clean read-only checkout of the base commit; git only
	LowerLive   Lower = "live"   // the tree as it stands
)

// Dirty says what happens to uncommitted work of the person when the lower is frozen.
type Dirty string

// Dirty modes.
const (
	DirtyCarry  Dirty = "carry"  // goes along as a layer of its own, never part of the plan's diff
	DirtyRefuse Dirty = "refuse" // is a conflict before anything is created
	DirtyHide   Dirty = "hide"   // is not visible inside
)

// Probe is whether a strategy can isolate a resource on this machine.
type Probe struct {
	OK      bool     `json:"ok"`
	Reason  string   `json:"reason"`            // why it fits, or the first thing that is missing, one line
	Missing []string `json:"missing,omitempty"` // everything that is missing, each with what to do
	// Bytes is the size of the files that Create would copy; 0 = none, or not known.
	Bytes int64 `json:"bytes,omitempty"`
}

// CreateRequest is what a strategy needs to make a sandbox.
type CreateRequest struct {
	Plan     string // plan id; also the branch name suffix: refs/heads/ambit/<plan>
	ID       string // sandbox id, unique within the plan: "s1", "s2", ...
	Dir      string // absolute folder for everything the sandbox keeps; exists, empty, mode 0700, never inside the resource
	BasesDir string // absolute folder shared by all plans for frozen bases
	Resource Resource
	Lower    Lower
	Dirty    Dirty
	// Include are globs of ignored paths to bring along where a checkout would
	// leave them behind.
	Include []string
	// Confined says that steps run in namespaces of their own, so the sandbox
	// can appear at the resource's original path. Without it the sandbox must be
	// self-contained at another path (git: a private clone, since a step would
	// otherwise have to write the common git directory).
	Confined bool
	Now      time.Time
	Expect   int64 // what the probe said would be copied, Probe.Bytes
	Progress func(Progress)
}

// Progress is one report of long work.
type Progress struct {
	Phase string // "copy", "checkout", "scan", ...
	Done  int64
	Total int64  // 0 = unknown
	Unit  string // "files" or "bytes"
}

// SandboxRecord is what the store keeps of a sandbox; enough, together with the
// sandbox's own folder, for another process to attach.
type SandboxRecord struct {
	ID       string        `json:"id"`
	Plan     string        `json:"plan"`
	Resource Resource      `json:"resource"`
	Strategy StrategyName  `json:"strategy"`
	Reason   string        `json:"reason"` // why this strategy
	Lower    Lower         `json:"lower,omitempty"`
	Dirty    Dirty         `json:"dirty,omitempty"`
	Confined bool          `json:"confined"`
	Status   SandboxStatus `json:"status"`
	Dir      string        `json:"dir"`
	BasesDir string        `json:"bases_dir"`
	Base     string        `json:"base,omitempty"` // base commit in git, of the real repository
	// ChainBase is the commit the plan's own commits stand on: Base, or the carry
	// commit that holds the person's uncommitted work. Git only.
	ChainBase string   `json:"chain_base,omitempty"`
	Notices   []string `json:"notices,omitempty"`
	// Timings breaks the creation down by phase, in milliseconds.
	Timings map[string]float64 `json:"timings,omitempty"`
}

// SandboxStatus is the life of a sandbox.
type SandboxStatus string

// Sandbox life: planned → creating → ready → prepared → committed | rolled_back → destroyed; failed from anywhere.
const (
	SandboxPlanned    SandboxStatus = "planned"
	SandboxCreating   SandboxStatus = "creating"
	SandboxReady      SandboxStatus = "ready"
	SandboxPrepared   SandboxStatus = "prepared"
	SandboxCommitted  SandboxStatus = "committed"
	SandboxRolledBack SandboxStatus = "rolled_back"
	SandboxDestroyed  SandboxStatus = "destroyed"
	SandboxFailed     SandboxStatus = "failed"
)

// Strategy isolates resources one way. Implementations are stateless and safe
// for concurrent use; all state lies in the sandbox's folder.
type Strategy interface {
	Name() StrategyName
	// Probe says whether this machine can do it for this request. It writes
	// nothing outside dir and removes what it wrote there.
	Probe(ctx context.Context, req CreateRequest) (Probe, error)
	// Create makes the sandbox in req.Dir. It is idempotent: called again after
	// a crash at any point it completes or starts over. It never writes into the
	// real resource (git_worktree: only its own admin directory and branch).
	Create(ctx context.Context, req CreateRequest) (Sandbox, error)
	// Attach opens a sandbox that Create finished, also from another process.
	Attach(ctx context.Context, rec SandboxRecord) (Sandbox, error)
}

// Refuser is a Strategy that says beforehand what Create would refuse for the sake
// of the person's uncommitted work. It writes nothing, and Create asks again.
type Refuser interface {
	Refuses(ctx context.Context, req CreateRequest) error
}

// Registrar is a Strategy that keeps something in the real resource for each
// sandbox, beyond what lies in the sandbox's folder. Both methods are idempotent.
type Registrar interface {
	// Unregister takes back what the resource need not hold while the sandbox lies
	// in the trash. What would be lost without it stays.
	Unregister(ctx context.Context, rec SandboxRecord) error
	// Reregister makes it again, for a sandbox that came back.
	Reregister(ctx context.Context, rec SandboxRecord) error
}

// Checkpoint names. Creation is the state right after Create; Now is the
// present state. Others are chosen by the engine: "before:n01-x", "after:n01-x",
// "n01-x@failed", "hand:NAME".
const (
	CheckpointCreation = "creation"
	CheckpointNow      = "now"
)

// Sandbox is one live isolation of one boundary for one plan. Methods other than
// Enter and Changes must not run while commands are live in it; the engine sees
// to that. All are idempotent. Not safe for concurrent use.
type Sandbox interface {
	// Info fills the strategy's part of the record: Base, Lower, Notices, Timings.
	Info() SandboxRecord
	// Enter says what confinement must mount or pass so that commands see it.
	Enter(ctx context.Context) (Entrance, error)
	// Checkpoint freezes the present state under a name that must be new, or
	// already name exactly this state.
	Checkpoint(ctx context.Context, name string) error
	// Checkpoints lists names, oldest first.
	Checkpoints(ctx context.Context) ([]string, error)
	// Restore makes the present state equal the named one exactly: deletions,
	// additions, kinds, modes. What was there before the restore is not kept
	// unless it was checkpointed. Checkpoints newer than name stay listed.
	Restore(ctx context.Context, name string) error
	// Changes compares two states by name. ignored asks for the ignored paths
	// themselves, not only their count. classify tells which of the given
	// changed paths the resource's ignore rules exclude; nil means none.
	Changes(ctx context.Context, from, to string, opts ChangeOptions) (*changeset.Set, changeset.Source, error)
	// Rollback returns to CheckpointCreation.
	Rollback(ctx context.Context) error
	// Destroy removes everything the sandbox made outside its Dir (bases are
	// shared and stay; a git worktree's admin directory, branch and pin go) and
	// then Dir's contents. It refuses with code conflict when commits exist
	// nowhere else unless req.Abandon is set by a discard that kept a copy.
	Destroy(ctx context.Context, abandon bool) error
}

// Keeper is a Sandbox that stands on the real tree and can be kept on its base:
// Keep stores what the tree holds at paths before ambit changes them. It may be
// called while commands are live.
type Keeper interface {
	Keep(ctx context.Context, paths []KeepPath) error
}

// KeepPath is a path, relative to the resource, that ambit is about to change.
type KeepPath struct {
	Path string
	// Absent says that nothing being there is part of the base. Where it is not
	// set, a path that is missing was taken away by somebody, and is not kept.
	Absent bool
}

// ChangeOptions tune Sandbox.Changes.
type ChangeOptions struct {
	// Ignored reports, for the given paths (directories end with '/'), those
	// that the resource's ignore rules exclude. The engine runs it inside the
	// confinement, since a sandboxed tree's git configuration is hostile. Nil:
	// nothing is ignored.
	Ignored func(ctx context.Context, paths []string) (map[string]bool, error)
	// KeepIgnored fills Set.Ignored with the ignored changes.
	KeepIgnored bool
	// SkipDrift leaves out the walk of the real tree that fills Set.Drift with
	// what changed there meanwhile (live lower). Paths that the sandbox changed
	// too are found without that walk, always.
	SkipDrift bool
}

// MountKind is how a mount is made.
type MountKind string

// Mount kinds.
const (
	MountOverlay MountKind = "overlay" // Lower (top first), Upper and Work; userxattr
	MountBind    MountKind = "bind"    // Source, recursive
)

// Mount is one mount that a sandbox needs inside. Mounts are made in order.
// Lower, Upper, Work and Source name host paths as they are before any of a
// sandbox's mounts: a lower that another mount's target covers is still meant.
type Mount struct {
	Kind     MountKind `json:"kind"`
	Target   string    `json:"target"` // absolute path inside
	Lower    []string  `json:"lower,omitempty"`
	Upper    string    `json:"upper,omitempty"`
	Work     string    `json:"work,omitempty"`
	Source   string    `json:"source,omitempty"`
	ReadOnly bool      `json:"read_only,omitempty"`
	// Aliases are further paths at which the same mount appears.
	Aliases []string `json:"aliases,omitempty"`
}

// Entrance is how confinement lets commands into one sandbox.
type Entrance struct {
	// Mounts make the sandbox appear at the resource's path (native).
	Mounts []Mount `json:"mounts,omitempty"`
	// Path is where the sandbox's tree lies on the host when it is used without
	// namespaces; empty when it cannot be.
	Path string `json:"path,omitempty"`
	// Root is the path at which commands find the resource: its original path
	// under native confinement, Path otherwise.
	Root string `json:"root"`
	// Env is added to the environment of every command.
	Env []string `json:"env,omitempty"`
	// ReadOnly says that commands may read but not write it, on every rung.
	ReadOnly bool `json:"read_only,omitempty"`
}
