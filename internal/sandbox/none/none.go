package none

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/sandbox/statefile"
)

// NotTracked is the notice of every set and record of this strategy.
const NotTracked = "not tracked: the strategy none isolates nothing, so commands work on the real resource, and what they change is neither shown nor can it be taken back"

// Strategy is engine.StrategyNone. It keeps no state and is safe for concurrent use.
type Strategy struct{}

var _ engine.Strategy = Strategy{}

// New returns the strategy.
func New() Strategy { return Strategy{} }

// Name returns engine.StrategyNone.
func (Strategy) Name() engine.StrategyName { return engine.StrategyNone }

// Probe is always OK: there is nothing that could be missing but the resource.
func (Strategy) Probe(_ context.Context, req engine.CreateRequest) (engine.Probe, error) {
	d, err := fsop.OpenRoot(req.Resource.Path)
	if err != nil {
		if c := fault.CodeOf(err); c == fault.NotFound || c == fault.Denied || c == fault.Conflict || c == fault.Unsupported {
			return engine.Probe{Reason: err.Error(), Missing: []string{err.Error()}}, nil
		}
		return engine.Probe{}, fault.Wrap("", "probe none", err)
	}
	return engine.Probe{OK: true, Reason: "nothing is isolated: commands work on the real resource"}, wrap("probe none", d.Close())
}

// state is what tells another process that the sandbox was made.
type state struct {
	Plan     string `json:"plan"`
	ID       string `json:"id"`
	Confined bool   `json:"confined"`
}

// Create records that commands may work on the real resource.
func (s Strategy) Create(ctx context.Context, req engine.CreateRequest) (engine.Sandbox, error) {
	rec := engine.SandboxRecord{
		ID: req.ID, Plan: req.Plan, Resource: req.Resource, Strategy: engine.StrategyNone, Confined: req.Confined,
		Dir: req.Dir, BasesDir: req.BasesDir, Status: engine.SandboxReady,
	}
	sb, err := s.Attach(ctx, rec)
	if !fault.Is(err, fault.NotFound) {
		return sb, err
	}
	if err := create(req); err != nil {
		return nil, fault.Wrap("", "create sandbox", err)
	}
	return s.Attach(ctx, rec)
}

func create(req engine.CreateRequest) error {
	real, err := fsop.OpenRoot(req.Resource.Path)
	if err != nil {
		return err
	}
	if err := real.Close(); err != nil {
		return err
	}
	d, err := fsop.OpenRoot(req.Dir)
	if err != nil {
		return err
	}
	return errors.Join(statefile.Save(d, state{Plan: req.Plan, ID: req.ID, Confined: req.Confined}), d.Close())
}

// Attach opens what Create recorded; code not_found when it did not.
func (Strategy) Attach(_ context.Context, rec engine.SandboxRecord) (engine.Sandbox, error) {
	const op = "attach to sandbox"
	d, err := fsop.OpenRoot(rec.Dir)
	if err != nil {
		return nil, fault.Wrap("", op, err)
	}
	st, err := statefile.Load[state](d, 0, "commands worked on the resource itself") // it never had a format
	if err := errors.Join(err, d.Close()); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.NotFound, op, "sandbox %s was never finished", rec.ID).WithCause(err).WithHint("stage the plan again")
		}
		return nil, fault.Wrap("", op, err)
	}
	if st.Plan != rec.Plan || st.ID != rec.ID {
		return nil, fault.New(fault.IdentityChanged, op, "%s holds sandbox %s of plan %s, not %s of %s", rec.Dir, st.ID, st.Plan, rec.ID, rec.Plan)
	}
	rec.Strategy, rec.Confined, rec.Notices = engine.StrategyNone, st.Confined, []string{NotTracked}
	return &Sandbox{rec: rec}, nil
}

// Sandbox is no isolation at all.
type Sandbox struct{ rec engine.SandboxRecord }

var _ engine.Sandbox = (*Sandbox)(nil)

// Info returns the record, with a notice that nothing is tracked.
func (s *Sandbox) Info() engine.SandboxRecord { return s.rec }

// Enter leads to the real resource.
func (s *Sandbox) Enter(context.Context) (engine.Entrance, error) {
	r := s.rec.Resource
	if !s.rec.Confined {
		return engine.Entrance{Path: r.Path, Root: r.Path, ReadOnly: r.ReadOnly}, nil
	}
	m := engine.Mount{Kind: engine.MountBind, Source: r.Path, Target: r.Path, ReadOnly: r.ReadOnly}
	if r.Spelled != "" && r.Spelled != r.Path {
		m.Aliases = []string{r.Spelled}
	}
	return engine.Entrance{Mounts: []engine.Mount{m}, Root: r.Path, ReadOnly: r.ReadOnly}, nil
}

func unsupported(op string) error {
	return fault.New(fault.Unsupported, op, "the strategy none keeps no state of the resource").
		WithHint("stage the plan with another strategy: overlay, git_worktree, copy_on_write")
}

// Checkpoint is unsupported.
func (s *Sandbox) Checkpoint(context.Context, string) error { return unsupported("checkpoint sandbox") }

// Checkpoints is empty: not even the state at creation is kept.
func (s *Sandbox) Checkpoints(context.Context) ([]string, error) { return []string{}, nil }

// Restore is unsupported.
func (s *Sandbox) Restore(context.Context, string) error { return unsupported("restore checkpoint") }

// Rollback is unsupported, and not a silent success.
func (s *Sandbox) Rollback(context.Context) error { return unsupported("roll back sandbox") }

// Changes is an empty set that says that nothing is tracked.
func (s *Sandbox) Changes(context.Context, string, string, engine.ChangeOptions) (*changeset.Set, changeset.Source, error) {
	r := s.rec.Resource
	return &changeset.Set{
		Resource: r.Name, Root: r.Path, Type: r.Type, Changes: []changeset.Change{}, Notices: []string{NotTracked},
	}, source{}, nil
}

type source struct{}

func (source) Open(changeset.Side, string) (io.ReadCloser, error) {
	return nil, unsupported("read contents")
}

// Destroy forgets the sandbox. The resource is not touched.
func (s *Sandbox) Destroy(context.Context, bool) error {
	d, err := fsop.OpenRoot(s.rec.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap("", "destroy sandbox", err)
	}
	return wrap("destroy sandbox", errors.Join(d.RemoveAll("."), d.Close()))
}

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap("", op, err)
}
