package engine

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/ticket"
)

// Console is the terminal or the pipes of the person who asked.
type Console struct {
	Stdin          *os.File // nil = empty
	Stdout, Stderr io.Writer
	Terminal       *os.File // the controlling terminal to join to a private pty; nil = pipes
}

// TryRequest asks for one command in a throw-away sandbox.
type TryRequest struct {
	Dir       string   // where the person stands
	Spelled   string   // $PWD as typed, if it names the same directory
	Resources []string // further paths, each a resource; empty = the one that holds Dir
	Argv      []string
	Environ   []string // the person's environment; the engine takes from it by the allow-list
	Options   PlanOptions
	Console   Console
	Observe   Observer
}

// TryResult is what came of it. The plan is in review (or failed when the
// command did); nothing of the real resource has changed.
type TryResult struct {
	Plan *Plan
	Exit Exit
}

// StageRequest asks for a plan of one ticket.
type StageRequest struct {
	Dir        string
	Spelled    string
	Resources  []string // explicit --resource paths; empty = the one that holds Dir
	Ticket     *ticket.Ticket
	TicketPath string // absolute; "" for stdin
	TicketSrc  []byte
	Dag        *ticket.Dag
	Agent      []string // command after --; placeholders are replaced per step
	AgentTTY   bool
	Environ    []string
	Options    PlanOptions
	Scope      ScopeMode
	Observe    Observer
}

// RunRequest starts or continues the steps of a staged plan.
type RunRequest struct {
	Plan    string
	Environ []string
	Console Console
	Scope   ScopeMode
	Observe Observer
}

// RunResult is what came of a run. Plan.Status says whether all steps ended well.
type RunResult struct {
	Plan *Plan
}

// UpdateKind tells what an Update reports.
type UpdateKind string

// Update kinds.
const (
	UpdateNotice   UpdateKind = "notice"   // Text: something the person should know (strategy chosen and why, rung, ...)
	UpdateProgress UpdateKind = "progress" // Progress: long work while staging
	UpdateProof    UpdateKind = "proof"    // Proof: the boundary was probed
	UpdateStep     UpdateKind = "step"     // Step: a step changed its status
	UpdateOutput   UpdateKind = "output"   // Step and Text: a chunk of a step's output (raw bytes)
	UpdatePlan     UpdateKind = "plan"     // Plan: the plan changed its status
)

// Update is one report of work in progress. Values are copies.
type Update struct {
	Kind     UpdateKind
	At       time.Time
	Plan     *Plan
	Step     *Step
	Text     string
	Progress *Progress
	Proof    *Proof
}

// Observer receives updates, one at a time, and must return quickly. Nil is none.
type Observer func(Update)

// ReviewRequest selects what to look at.
type ReviewRequest struct {
	Plan    string
	Step    string   // only what this step changed
	Only    []string // globs, relative to the resource
	Paths   []string // exact paths or directories: absolute, or relative to Dir
	Dir     string   // for relative Paths
	Ignored bool     // with the ignored paths
	// SkipDrift leaves out the walk of the real tree for what changed in it alone:
	// for a review that nobody will act on.
	SkipDrift bool
}

// Review is everything a plan would change, ready to be rendered or applied.
type Review struct {
	Plan *Plan
	Sets []ReviewSet // one per sandbox, in plan order
	// Rest counts changes that the selection leaves in the plan.
	Rest int
	// Blocking lists flagged changes that stop an apply until decided.
	Blocking []changeset.Change
}

// ReviewSet is the changeset of one sandbox with its contents.
type ReviewSet struct {
	Sandbox string
	Set     *changeset.Set
	Source  changeset.Source
}

// ApplyRequest asks for a plan's changes to be carried into the real resources.
type ApplyRequest struct {
	Plan    string
	To      ApplyTo // "" = the default: worktree for try and for plain directories, commit for run in git
	Branch  string  // ToBranch: name; "" = ambit/<plan>
	Message string
	Squash  bool
	Only    []string
	Paths   []string
	Dir     string
	Ignored bool
	// Allow names blocking flags the person has decided to let through.
	Allow   []changeset.Flag
	Observe Observer
}

// ApplyResult is what was applied.
type ApplyResult struct {
	Plan    *Plan
	Record  ApplyRecord
	Applied int // changes carried out
	Rest    int // changes left in the plan
	Notices []string
}

// ExecRequest is a command of the person's own inside a plan's sandbox.
type ExecRequest struct {
	Plan    string
	Argv    []string // empty = the person's shell
	Dir     string   // where the person stands; mapped into the sandbox if a resource holds it
	Environ []string
	Console Console
	Observe Observer
}

// RecoverReport says what recover found and did.
type RecoverReport struct {
	Plans []RecoveredPlan `json:"plans"`
	// Swept lists things that no plan owned and that were removed (empty
	// folders of plans that never came to be, dead holders' sockets), or kept
	// and why.
	Swept []string `json:"swept,omitempty"`
}

// RecoveredPlan is one plan that needed it.
type RecoveredPlan struct {
	Plan   string     `json:"plan"`
	Was    PlanStatus `json:"was"`
	Is     PlanStatus `json:"is"`
	Action string     `json:"action"` // "rolled forward", "undone", "abandoned", "marked interrupted"
	Error  string     `json:"error,omitempty"`
	Paths  []string   `json:"paths,omitempty"` // what the error is about
	Hint   string     `json:"hint,omitempty"`
}

// DoctorReport says what this machine can do.
type DoctorReport struct {
	StateDir   string                 `json:"state_dir"`
	Rungs      map[Rung]Probe         `json:"rungs"`
	Strategies map[StrategyName]Probe `json:"strategies"`
	Programs   map[string]string      `json:"programs"` // name → version or what is missing
	Facts      map[string]string      `json:"facts"`    // kernel, file system of the state folder, Landlock ABI, ...
	Missing    []string               `json:"missing,omitempty"`
}

// Service is what the faces call. *Engine implements it; the faces hold no rule.
type Service interface {
	Try(ctx context.Context, req TryRequest) (*TryResult, error)
	// Stage makes the plan and its sandboxes and runs nothing.
	Stage(ctx context.Context, req StageRequest) (*Plan, error)
	// Preview says what Stage would make of a request, and what keeps it from that;
	// it makes nothing.
	Preview(ctx context.Context, req StageRequest) (*Preview, error)
	// Run executes the steps that are not done. It is how a resume works, too.
	// When ctx ends, the running step's tree is killed, the plan is interrupted
	// and the error has code canceled.
	Run(ctx context.Context, req RunRequest) (*RunResult, error)

	Review(ctx context.Context, req ReviewRequest) (*Review, error)
	Apply(ctx context.Context, req ApplyRequest) (*ApplyResult, error)
	// Discard moves the plan's folder to the trash, from which Restore brings it back.
	Discard(ctx context.Context, plan string) (*Plan, error)
	Restore(ctx context.Context, plan string) (*Plan, error)
	Undo(ctx context.Context, plan string) (*Plan, error)
	// Recover repairs one plan, or all that need it when plan is "". A plan that
	// needs a person stands in the report with its error and stops no other.
	Recover(ctx context.Context, plan string) (*RecoverReport, error)

	Exec(ctx context.Context, req ExecRequest) (Exit, error)
	Checkpoint(ctx context.Context, plan, name string) (*Plan, error)
	RestoreCheckpoint(ctx context.Context, plan, name string) (*Plan, error)

	// Resolve finds a plan by id, unique prefix, or, for "", the newest live one
	// whose resources cover dir. A ref that is a path or matches several plans is
	// an error that says so.
	Resolve(ctx context.Context, ref, dir string) (*Plan, error)
	Plans(ctx context.Context, q PlanQuery) ([]*Plan, error)
	// Log opens the kept output of a step ("" = the last that ran).
	Log(ctx context.Context, plan, step string) (io.ReadCloser, *Step, error)
	// Live lists commands that run in the plan's sandbox now.
	Live(ctx context.Context, plan string) ([]Entry, error)
	Events(ctx context.Context, plan string) ([]Event, error)
	Doctor(ctx context.Context, dir string) (*DoctorReport, error)
}
