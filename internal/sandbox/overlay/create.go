package overlay

import (
	"context"
	"fmt"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Create makes the sandbox. The state file is written last: a folder without it
// is a creation that a crash cut off and is begun again from nothing; with it
// the sandbox is whole and Create only opens it.
func (s *Strategy) Create(ctx context.Context, req engine.CreateRequest) (engine.Sandbox, error) {
	sb, err := s.create(ctx, req)
	if err != nil {
		return nil, fault.Wrap("", "create sandbox", err)
	}
	return sb, nil
}

func (s *Strategy) create(ctx context.Context, req engine.CreateRequest) (*Sandbox, error) {
	if !req.Confined {
		return nil, unconfined()
	}
	rec := engine.SandboxRecord{ID: req.ID, Plan: req.Plan, Dir: req.Dir, BasesDir: req.BasesDir, Status: engine.SandboxReady}
	sb, err := s.attach(rec)
	if err == nil && !sb.st.Destroying {
		return sb, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	dir, err := s.openRoot(req.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := dir.RemoveAll("."); err != nil {
		return nil, fmt.Errorf("clear what an interrupted creation left: %w", err)
	}
	c := &creation{
		strat: s, req: req, dir: dir, began: s.clock(),
		sb: &Sandbox{strat: s, dirPath: req.Dir, basesDir: req.BasesDir, rec: rec},
	}
	return c.sb, c.run(ctx)
}

// creation is one making of a sandbox.
type creation struct {
	strat *Strategy
	req   engine.CreateRequest
	dir   *fsop.Dir // req.Dir
	sb    *Sandbox
	began time.Time // of the phase that is under way
}

// phase records how long the part of the work that has just ended took.
func (c *creation) phase(name string) {
	now := c.strat.clock()
	c.sb.st.Timings[name] += float64(now.Sub(c.began).Microseconds()) / 1000
	c.began = now
}

func (c *creation) notice(format string, args ...any) {
	c.sb.st.Notices = append(c.sb.st.Notices, fmt.Sprintf(format, args...))
}

func (c *creation) run(ctx context.Context) error {
	r := c.req.Resource
	lower, err := c.strat.openRoot(r.Path)
	if err != nil {
		return err
	}
	defer lower.Close()
	info, err := lower.Stat(".")
	if err != nil {
		return err
	}
	st := &state{
		Format: stateFormat, Plan: c.req.Plan, ID: c.req.ID, Resource: r,
		Lower: c.req.Lower, Dirty: c.req.Dirty, CreatedAt: c.req.Now,
		Tree: volume{Target: r.Path, Real: r.Path, Identity: identityOf(info, c.strat.boot)},
		Next: 1, Timings: map[string]float64{},
	}
	c.sb.st = st
	if st.Lower == "" {
		st.Lower = engine.LowerLive
	}
	if r.Spelled != "" && r.Spelled != r.Path {
		st.Tree.Aliases = []string{r.Spelled}
	}
	// The stamp comes before anything is read: what changes while the sandbox is
	// being made counts as changed after.
	if st.Stamp, err = takeStamp(c.dir, lower); err != nil {
		return fmt.Errorf("stamp the creation: %w", err)
	}
	if st.Stamp.Notice != "" && st.Lower == engine.LowerLive {
		c.notice("%s", st.Stamp.Notice)
	}
	if err := c.dir.Mkdir(layersDir, 0o700); err != nil {
		return err
	}
	c.phase("prepare")
	if err := c.bottom(ctx, lower); err != nil {
		return err
	}
	// What git and the carried work need lies in layers of their own, below the
	// first one that commands write to: the state of creation stays as it is.
	st.Checkpoints = []checkpoint{{Name: engine.CheckpointCreation, Layers: append([]string{}, st.Layers...)}}
	st.Upper = layerName(st.Next)
	st.Next++
	if err := c.sb.newLayer(c.dir, st.Upper, st.Layers); err != nil {
		return err
	}
	c.phase("layers")
	return st.save(c.dir)
}

// bottom decides what the sandbox stands on, and prepares it.
func (c *creation) bottom(ctx context.Context, lower *fsop.Dir) error {
	st := c.sb.st
	switch {
	case st.Lower == engine.LowerFrozen && st.Resource.Git == nil:
		return fault.New(fault.Unsupported, "", "only a git checkout has commits to stand on").
			WithHint("use the live lower for a plain directory")
	case st.Lower == engine.LowerFrozen:
		return c.frozen(ctx, lower)
	}
	if err := c.dir.Mkdir(pinDir, 0o700); err != nil {
		return err
	}
	st.Tree.Bottom = []layerRef{
		{Kind: layerPin, Path: c.req.Dir + "/" + pinDir},
		{Kind: layerLive, Path: st.Resource.Path},
	}
	if st.Resource.Git == nil {
		return nil
	}
	return c.liveGit(ctx, lower)
}

func unconfined() error {
	return fault.New(fault.Unsupported, "", "an overlay can only be mounted for commands that run in namespaces of their own").
		WithHint("use native confinement, or another strategy (git_worktree, copy_on_write)")
}
