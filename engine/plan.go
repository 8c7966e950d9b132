package engine

import (
	"time"

	"github.com/ambit-run/ambit/ticket"
)

// PlanStatus is where a plan stands.
type PlanStatus string

// Plan life. A plan's status is the worst of its work: one failed step makes it
// failed (C120). Review and Failed plans can be reviewed, applied or discarded.
const (
	PlanStaging     PlanStatus = "staging"     // sandboxes are being made
	PlanReady       PlanStatus = "ready"       // staged, nothing has run
	PlanRunning     PlanStatus = "running"     // a process runs its steps
	PlanReview      PlanStatus = "review"      // all steps ended well; waits for a decision
	PlanFailed      PlanStatus = "failed"      // a step failed; can be resumed, reviewed, discarded
	PlanInterrupted PlanStatus = "interrupted" // stopped by the person or a crash; can be resumed
	PlanApplying    PlanStatus = "applying"    // an apply is under way or needs recover
	PlanApplied     PlanStatus = "applied"
	PlanUndoing     PlanStatus = "undoing"
	PlanUndone      PlanStatus = "undone"    // applied and reversed; the sandboxes are still there
	PlanDiscarded   PlanStatus = "discarded" // in the trash until it expires
)

// Plan is one execution of one ticket, or of one command, over some resources.
type Plan struct {
	ID          string          `json:"id"`
	Version     int64           `json:"version"` // optimistic lock of the store row
	Kind        string          `json:"kind"`    // "try" or "run"
	Title       string          `json:"title"`
	Status      PlanStatus      `json:"status"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	Dir         string          `json:"dir"` // the plan's folder
	Cwd         string          `json:"cwd"` // where the person stood, canonical
	Ticket      *TicketRef      `json:"ticket,omitempty"`
	Agent       []string        `json:"agent,omitempty"` // the agent command after --
	Scope       []string        `json:"scope,omitempty"` // what the ticket works on: absolute paths
	Options     PlanOptions     `json:"options"`
	Rung        Rung            `json:"rung,omitempty"`
	RungWhy     string          `json:"rung_why,omitempty"`
	Proof       *Proof          `json:"proof,omitempty"`
	Sandboxes   []SandboxRecord `json:"sandboxes"`
	Steps       []Step          `json:"steps"`
	Checkpoints []Checkpoint    `json:"checkpoints,omitempty"`
	Applies     []ApplyRecord   `json:"applies,omitempty"`
	Notices     []string        `json:"notices,omitempty"`
	AgentTTY    bool            `json:"agent_tty,omitempty"`    // the agent wants a terminal, and its prompt by placeholder
	DiscardedAs PlanStatus      `json:"discarded_as,omitempty"` // what it was before the trash
	DiscardedAt time.Time       `json:"discarded_at,omitzero"`
	TrashBytes  int64           `json:"trash_bytes,omitempty"` // what it held on the disk when it was discarded
}

// PlanOptions are the flags a plan was made with; a resume keeps them.
type PlanOptions struct {
	Strategy  StrategyName  `json:"strategy"`
	Lower     Lower         `json:"lower,omitempty"` // empty = the strategy's default for the kind of plan
	Dirty     Dirty         `json:"dirty,omitempty"`
	Confine   Rung          `json:"confine"`
	Home      HomeMode      `json:"home"`
	Network   Network       `json:"network"`
	OnFailure string        `json:"on_failure,omitempty"` // "stop" or "continue"
	Include   []string      `json:"include,omitempty"`
	Env       []string      `json:"env,omitempty"` // names or NAME=VALUE to pass
	Timeout   time.Duration `json:"timeout_ns,omitempty"`
	Assume    []string      `json:"assume,omitempty"`
	AsRoot    bool          `json:"as_root,omitempty"`
	Tick      bool          `json:"tick,omitempty"`       // mark the boxes of steps that are done
	ReadWrite []string      `json:"read_write,omitempty"` // host paths named by the person to be writable inside
}

// TicketRef binds a plan to the exact ticket it was made from.
type TicketRef struct {
	Path         string      `json:"path"`
	PathBytes    []byte      `json:"path_bytes,omitempty"` // the path where it is no UTF-8, which JSON cannot hold
	SHA256       string      `json:"sha256"`
	ManifestHash string      `json:"manifest_hash"`
	Dag          *ticket.Dag `json:"dag"`
}

// file is the path of the ticket, byte for byte.
func (t *TicketRef) file() string {
	if len(t.PathBytes) > 0 {
		return string(t.PathBytes)
	}
	return t.Path
}

// StepStatus is where a step stands.
type StepStatus string

// Step states.
const (
	StepPending  StepStatus = "pending"
	StepRunning  StepStatus = "running"
	StepDone     StepStatus = "done"
	StepFailed   StepStatus = "failed"
	StepSkipped  StepStatus = "skipped"  // something it depends on did not end well
	StepCanceled StepStatus = "canceled" // cancelled in the ticket
)

// Step is one node of the DAG as it ran.
type Step struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Line       int        `json:"line,omitempty"`
	Status     StepStatus `json:"status"`
	DependsOn  []string   `json:"depends_on,omitempty"` // ids of steps of this plan only
	Command    string     `json:"command,omitempty"`    // a shell script; empty = the agent, or a group
	Shell      string     `json:"shell,omitempty"`      // "sh" or "bash", as its fence says
	Group      bool       `json:"group,omitempty"`      // no work of its own
	Files      []string   `json:"files,omitempty"`
	StartedAt  time.Time  `json:"started_at,omitzero"`
	EndedAt    time.Time  `json:"ended_at,omitzero"`
	Exit       *Exit      `json:"exit,omitempty"`
	SkippedFor string     `json:"skipped_for,omitempty"` // the step that did not end well
	Log        string     `json:"log,omitempty"`         // path below Plan.Dir
	Runs       int        `json:"runs"`                  // how often it was started
	Message    string     `json:"message,omitempty"`
	// From and To are the checkpoints before and after the step.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Tips are the commits the step ended at, by sandbox id; git only.
	Tips map[string]string `json:"tips,omitempty"`
}

// Checkpoint is one restorable state of all of a plan's sandboxes.
type Checkpoint struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	Auto bool      `json:"auto"`
}

// ApplyRecord is one apply of the plan.
type ApplyRecord struct {
	ID      string     `json:"id"` // "a1", "a2", ...
	To      ApplyTo    `json:"to"`
	At      time.Time  `json:"at"`
	Only    []string   `json:"only,omitempty"`
	Was     PlanStatus `json:"was"`    // what the plan was before, and is again if the apply comes to nothing
	Status  string     `json:"status"` // preparing, decided, committed, undoing, undone, abandoned
	Summary string     `json:"summary,omitempty"`
}
