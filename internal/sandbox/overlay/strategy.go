package overlay

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox/uncommitted"
)

// Options are what a Strategy works with. The zero value isolates plain
// directories only.
type Options struct {
	// Git runs the host's git; nil where there is none: then Probe refuses checkouts.
	Git *gitx.Git
	// Boot names the running boot; "" = read from the kernel.
	Boot string
	// Clock measures how long phases take, and says when git was asked about files
	// whose change times are compared with that; nil = time.Now.
	Clock func() time.Time
	// Intercept fails or ends the process at a file-system call: for tests.
	Intercept fsop.Intercept
}

// Strategy is engine.StrategyOverlay. It keeps no state and is safe for
// concurrent use.
type Strategy struct {
	git       *gitx.Git
	boot      string
	uid, gid  uint32
	clock     func() time.Time
	intercept fsop.Intercept
}

var (
	_ engine.Strategy = (*Strategy)(nil)
	_ engine.Refuser  = (*Strategy)(nil)
)

// New returns the strategy.
func New(opts Options) *Strategy {
	s := &Strategy{
		git: opts.Git, boot: opts.Boot, clock: opts.Clock, intercept: opts.Intercept,
		uid: uint32(os.Geteuid()), gid: uint32(os.Getegid()),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.boot == "" {
		s.boot = bootID()
	}
	return s
}

// bootID is empty where the kernel tells none; then device numbers are compared
// across boots too.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(raw[:max(0, len(raw)-1)])
}

// Name returns engine.StrategyOverlay.
func (s *Strategy) Name() engine.StrategyName { return engine.StrategyOverlay }

// Refuses is engine.Refuser: over the live tree uncommitted work is simply there.
func (s *Strategy) Refuses(ctx context.Context, req engine.CreateRequest) error {
	if req.Lower == engine.LowerLive {
		return nil
	}
	if err := uncommitted.Check(ctx, s.git, req); err != nil {
		return fault.Wrap("", "create sandbox", err)
	}
	return nil
}

func (s *Strategy) rootOptions() []fsop.RootOption {
	if s.intercept == nil {
		return nil
	}
	return []fsop.RootOption{fsop.WithIntercept(s.intercept)}
}

func (s *Strategy) openRoot(path string) (*fsop.Dir, error) {
	return fsop.OpenRoot(path, s.rootOptions()...)
}

// Attach opens a sandbox that Create finished, also from another process. Code
// not_found when it never was finished: call Create again. Code
// identity_changed when the resource is another directory by now.
func (s *Strategy) Attach(_ context.Context, rec engine.SandboxRecord) (engine.Sandbox, error) {
	sb, err := s.attach(rec)
	if err != nil {
		return nil, fault.Wrap("", "attach to sandbox", err)
	}
	return sb, nil
}

func (s *Strategy) attach(rec engine.SandboxRecord) (*Sandbox, error) {
	d, err := s.openRoot(rec.Dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	st, err := loadState(d)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "", "sandbox %s was never finished", rec.ID).WithCause(err).
			WithHint("stage the plan again")
	}
	if err != nil {
		return nil, err
	}
	if st.Plan != rec.Plan || st.ID != rec.ID {
		return nil, fault.New(fault.IdentityChanged, "", "%s holds sandbox %s of plan %s, not %s of %s", rec.Dir, st.ID, st.Plan, rec.ID, rec.Plan)
	}
	return &Sandbox{strat: s, st: st, dirPath: rec.Dir, basesDir: rec.BasesDir, rec: rec}, nil
}

// Sandbox is an overlay sandbox. See engine.Sandbox for what may run at the same
// time as what.
type Sandbox struct {
	strat    *Strategy
	st       *state
	dirPath  string
	basesDir string
	rec      engine.SandboxRecord
	// maskFresh says that Create has just written the mask.
	maskFresh bool
	tracked   map[string]indexEntry // the index at creation; read when first asked for
}

var _ engine.Sandbox = (*Sandbox)(nil)

// Info fills the strategy's part of the record.
func (s *Sandbox) Info() engine.SandboxRecord {
	r := s.rec
	r.ID, r.Plan, r.Resource, r.Strategy = s.st.ID, s.st.Plan, s.st.Resource, engine.StrategyOverlay
	r.Lower, r.Dirty, r.Confined = s.st.Lower, s.st.Dirty, true
	r.Dir, r.BasesDir = s.dirPath, s.basesDir
	r.Base, r.Notices, r.Timings = s.st.Base, s.st.Notices, s.st.Timings
	if r.ChainBase = s.st.Carry; r.ChainBase == "" {
		r.ChainBase = s.st.Base
	}
	return r
}

func (s *Sandbox) isGit() bool { return s.st.Resource.Git != nil }

// open holds the sandbox's folder.
func (s *Sandbox) open() (*fsop.Dir, error) { return s.strat.openRoot(s.dirPath) }

// checkLower verifies that the directories the sandbox stands on are the ones
// it was made over (C12).
func (s *Sandbox) checkLower() error {
	for _, v := range []*volume{&s.st.Tree, s.st.Git} {
		if v == nil {
			continue
		}
		d, err := s.strat.openRoot(v.Real)
		if err != nil {
			return err
		}
		info, err := d.Stat(".")
		if err := errors.Join(err, d.Close()); err != nil {
			return err
		}
		if !identityOf(info, s.strat.boot).same(v.Identity) {
			return fault.New(fault.IdentityChanged, "", "%s is not the directory that the sandbox was made over", v.Real).
				WithHint("put the original directory back, or discard the plan")
		}
	}
	return nil
}
