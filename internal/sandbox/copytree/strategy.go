package copytree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// Options are what a Strategy works with. The zero value isolates plain
// directories only.
type Options struct {
	// Git runs the host's git; nil where there is none: then Probe refuses checkouts.
	Git *gitx.Git
	// Boot names the running boot; "" = read from the kernel.
	Boot string
	// Workers is how many files are copied or read at once; 0 = the number of
	// CPUs, at least 2, at most 16.
	Workers int
	// Clock measures how long phases take; nil = time.Now.
	Clock func() time.Time
	// Intercept fails or ends the process at a file-system call: for tests.
	Intercept fsop.Intercept
}

// Strategy copies. It keeps no state and is safe for concurrent use.
type Strategy struct {
	name      engine.StrategyName
	git       *gitx.Git
	boot      string
	root      bool
	uid       uint32
	workers   int
	clock     func() time.Time
	intercept fsop.Intercept
	fill      Filler // nil = the resource is copied whole
}

var _ engine.Strategy = (*Strategy)(nil)

// New returns the strategy of one of the two names: StrategyCopyOnWrite, which
// shares blocks with the original where it can, or StrategyFilesystemCopy.
func New(name engine.StrategyName, opts Options) *Strategy {
	if name != engine.StrategyCopyOnWrite && name != engine.StrategyFilesystemCopy {
		panic("copytree: no strategy " + string(name))
	}
	return newStrategy(name, opts)
}

func newStrategy(name engine.StrategyName, opts Options) *Strategy {
	s := &Strategy{
		name: name, git: opts.Git, boot: opts.Boot, root: os.Geteuid() == 0, uid: uint32(os.Geteuid()),
		workers: opts.Workers, clock: opts.Clock, intercept: opts.Intercept,
	}
	if s.workers <= 0 {
		s.workers = min(max(runtime.NumCPU(), 2), 16)
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.boot == "" {
		if raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
			s.boot = strings.TrimSpace(string(raw))
		}
	}
	return s
}

// Name returns the name given to New.
func (s *Strategy) Name() engine.StrategyName { return s.name }

func (s *Strategy) openRoot(path string) (*fsop.Dir, error) {
	if s.intercept == nil {
		return fsop.OpenRoot(path)
	}
	return fsop.OpenRoot(path, fsop.WithIntercept(s.intercept))
}

// Attach opens a sandbox that Create finished, also from another process. Code
// not_found when it never was finished: call Create again.
func (s *Strategy) Attach(_ context.Context, rec engine.SandboxRecord) (engine.Sandbox, error) {
	sb, err := s.attach(rec)
	if err != nil {
		return nil, edge("attach to sandbox", err)
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
	if st.Plan != rec.Plan || st.ID != rec.ID || st.Strategy != s.name {
		return nil, fault.New(fault.IdentityChanged, "", "%s holds sandbox %s of plan %s (%s), not %s of %s (%s)",
			rec.Dir, st.ID, st.Plan, st.Strategy, rec.ID, rec.Plan, s.name)
	}
	return &Sandbox{strat: s, st: st, dirPath: rec.Dir, rec: rec}, nil
}

// Sandbox is a copy. See engine.Sandbox for what may run at the same time as what.
type Sandbox struct {
	strat   *Strategy
	st      *state
	dirPath string
	rec     engine.SandboxRecord
}

var _ engine.Sandbox = (*Sandbox)(nil)

// Info fills the strategy's part of the record.
func (s *Sandbox) Info() engine.SandboxRecord {
	r := s.rec
	r.Strategy, r.Lower, r.Dirty, r.Confined = s.st.Strategy, s.st.Lower, s.st.Dirty, s.st.Confined
	r.Base, r.Notices, r.Timings = s.st.Base, s.st.Notices, s.st.Timings
	if r.ChainBase = s.st.Carry; r.ChainBase == "" {
		r.ChainBase = s.st.Base
	}
	return r
}

func (s *Sandbox) isGit() bool { return s.rec.Resource.Git != nil }

// openTree holds the sandbox's folder and the tree in it. With mend what a crash
// left half done is put right first; without, nothing is written.
func (s *Sandbox) openTree(mend bool) (dir, tree *fsop.Dir, err error) {
	if dir, err = s.strat.openRoot(s.dirPath); err != nil {
		return nil, nil, err
	}
	if tree, err = s.treeOf(dir, mend); err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	return dir, tree, nil
}

func (s *Sandbox) treeOf(dir *fsop.Dir, mend bool) (*fsop.Dir, error) {
	if mend {
		if err := settle(dir); err != nil {
			return nil, fmt.Errorf("put right what a crash left: %w", err)
		}
	}
	tree, err := dir.OpenDir(treeDir)
	if errors.Is(err, fs.ErrNotExist) {
		if old, oerr := dir.OpenDir(oldDir); oerr == nil {
			return old, nil
		}
		err = fault.New(fault.NotFound, "", "the copy of sandbox %s is gone", s.st.ID).WithCause(err)
	}
	return tree, err
}

// Enter says how commands get in: the copy mounted over the resource's own path
// where they run in namespaces of their own, else its own path.
func (s *Sandbox) Enter(context.Context) (engine.Entrance, error) {
	dir, tree, err := s.openTree(true)
	if err != nil {
		return engine.Entrance{}, edge("enter sandbox", err)
	}
	if err := errors.Join(tree.Close(), dir.Close()); err != nil {
		return engine.Entrance{}, edge("enter sandbox", err)
	}
	r := s.rec.Resource
	path := s.dirPath + "/" + treeDir
	if !s.st.Confined {
		return s.entrance(engine.Entrance{Path: path, Root: path, ReadOnly: r.ReadOnly})
	}
	m := engine.Mount{Kind: engine.MountBind, Target: r.Path, Source: path, ReadOnly: r.ReadOnly}
	if r.Spelled != "" && r.Spelled != r.Path {
		m.Aliases = []string{r.Spelled}
	}
	return s.entrance(engine.Entrance{Mounts: []engine.Mount{m}, Root: r.Path, ReadOnly: r.ReadOnly})
}

// entrance lets a Filler add to an entrance.
func (s *Sandbox) entrance(en engine.Entrance) (engine.Entrance, error) {
	if s.strat.fill == nil {
		return en, nil
	}
	rec := s.rec
	rec.Confined = s.st.Confined
	err := s.strat.fill.Enter(rec, &en)
	return en, edge("enter sandbox", err)
}

// edge gives an error the operation that met it.
func edge(op string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap("", op, err)
}
