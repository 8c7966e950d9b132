package engine

import (
	"context"
	"encoding/json"
	"time"
)

// Store keeps plans, sandboxes, steps, leases and events. One store is shared
// by several ambit processes. What a method wrote about plans is durable (full
// fsync) when it returns; leases need not outlive the boot that they name. Errors: not_found, exists, conflict (version moved, lease held),
// unavailable (database locked beyond its timeout or damaged).
type Store interface {
	// CreatePlan inserts a plan; exists if the id is taken.
	CreatePlan(ctx context.Context, p *Plan) error
	// Plan reads one plan with its steps, sandboxes and checkpoints.
	Plan(ctx context.Context, id string) (*Plan, error)
	// FindPlans lists plans, newest first.
	FindPlans(ctx context.Context, q PlanQuery) ([]*Plan, error)
	// UpdatePlan writes plan, steps, sandboxes and checkpoints back in one
	// transaction if the stored version still is p.Version, and increments it.
	// Events are added to the plan's record in the same transaction.
	UpdatePlan(ctx context.Context, p *Plan, events ...Event) error
	// DeletePlan forgets a plan whose folder is gone.
	DeletePlan(ctx context.Context, id string) error

	// AcquireLease takes key for the holder, or is a conflict naming the living
	// holder. A lease whose holder is dead (alive says so) is taken over.
	AcquireLease(ctx context.Context, l Lease, alive func(Lease) bool) error
	// AcquireLeases takes all of ls, which are one process's and one plan's, or none.
	// clash is asked about every lease of other processes, and of other plans of this
	// one; its error for one whose holder lives is returned, and one whose holder is
	// dead is removed.
	AcquireLeases(ctx context.Context, ls []Lease, alive func(Lease) bool, clash func(held Lease) error) error
	ReleaseLease(ctx context.Context, l Lease) error
	Leases(ctx context.Context, prefix string) ([]Lease, error)

	// AppendEvent adds one line to a plan's record; Seq is assigned.
	AppendEvent(ctx context.Context, e Event) error
	Events(ctx context.Context, plan string, afterSeq int64) ([]Event, error)

	Close() error
}

// PlanQuery selects plans.
type PlanQuery struct {
	IDPrefix string       // "" = any
	Covers   string       // a canonical absolute path that a resource of the plan holds or equals; "" = any
	Status   []PlanStatus // empty = any
	Limit    int          // 0 = all
}

// Lease is a claim that dies with its holder: process id, its start token and
// the boot it belongs to, never age.
type Lease struct {
	Key    string    `json:"key"`  // "plan:ID", "scope:ID:PATH"
	Plan   string    `json:"plan"` // what it is for
	PID    int       `json:"pid"`
	Start  string    `json:"start"`   // field 22 of /proc/PID/stat
	BootID string    `json:"boot_id"` // /proc/sys/kernel/random/boot_id
	PIDNS  string    `json:"pid_ns"`  // the pid namespace that PID belongs to; see internal/procid
	Since  time.Time `json:"since"`
}

// Event is one line of a plan's record.
type Event struct {
	Plan string          `json:"plan"`
	Seq  int64           `json:"seq"`
	At   time.Time       `json:"at"`
	Kind string          `json:"kind"` // "step.started", "apply.decided", ...
	Data json.RawMessage `json:"data,omitempty"`
}
