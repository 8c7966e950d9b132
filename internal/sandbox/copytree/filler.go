package copytree

import (
	"context"
	"fmt"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Filler makes the tree of a checkout in another way than by copying it whole.
// Everything after that, checkpoints, restores and changes, is this package's.
// Implementations keep no state and are safe for concurrent use.
type Filler interface {
	// Name is the name of the strategy that fills so.
	Name() engine.StrategyName
	// Probe says whether the resource can be filled from; see engine.Strategy.
	Probe(ctx context.Context, req engine.CreateRequest) (engine.Probe, error)
	// Fill makes the folder "tree" in dir, which is empty but for this package's
	// own folders, with a complete git directory in it. What an earlier attempt
	// left outside of dir it takes back first. phase records how long a part took.
	Fill(ctx context.Context, req engine.CreateRequest, dir *fsop.Dir, phase func(name string)) (Filled, error)
	// Again makes the files of the base once more, in the empty folder at to and
	// with nothing beside it but to + ".index": for contents that no checkpoint
	// stored and nobody else has any more.
	Again(ctx context.Context, rec engine.SandboxRecord, base, to string) error
	// Contents returns one file of the base as git stores it.
	Contents(ctx context.Context, rec engine.SandboxRecord, base, path string) ([]byte, error)
	// Enter completes the entrance of a sandbox.
	Enter(rec engine.SandboxRecord, en *engine.Entrance) error
	// Unpin takes back what Fill made outside of the sandbox's folder as far as it
	// is not needed while the sandbox is in the trash; Pin makes it again.
	Unpin(ctx context.Context, rec engine.SandboxRecord) error
	Pin(ctx context.Context, rec engine.SandboxRecord) error
	// Release takes back what Fill made outside of the sandbox's folder, in which
	// nothing is left by now. Repeating it does no harm.
	Release(ctx context.Context, rec engine.SandboxRecord, base string) error
}

// Filled is what a Filler made.
type Filled struct {
	Base    string            // commit of the real repository
	Carry   string            // commit of the person's uncommitted work; empty = none
	Branch  string            // full name of the branch that HEAD is on inside
	Refs    []byte            // the real references at creation, as a packed-refs file
	Known   map[string]string // path → hex SHA-256 of files that need no reading
	Notices []string
	Skipped []changeset.Skip
}

// NewFilled returns the strategy that fills by f.
func NewFilled(f Filler, opts Options) *Strategy {
	s := newStrategy(f.Name(), opts)
	s.fill = f
	return s
}

var (
	_ engine.Registrar = (*Strategy)(nil)
	_ engine.Refuser   = (*Strategy)(nil)
)

// Unregister gives back what the real repository holds for a sandbox that is on
// its way to the trash.
func (s *Strategy) Unregister(ctx context.Context, rec engine.SandboxRecord) error {
	if s.fill == nil || rec.Base == "" {
		return nil
	}
	return edge("unregister sandbox", s.fill.Unpin(ctx, rec))
}

// Reregister makes it again.
func (s *Strategy) Reregister(ctx context.Context, rec engine.SandboxRecord) error {
	if s.fill == nil || rec.Base == "" {
		return nil
	}
	return edge("register sandbox", s.fill.Pin(ctx, rec))
}

// filled makes the tree by the strategy's Filler.
func (c *creation) filled(ctx context.Context) error {
	out, err := c.strat.fill.Fill(ctx, c.req, c.dir, c.phase)
	if err != nil {
		return err
	}
	c.st.Base, c.st.Carry, c.st.Branch = out.Base, out.Carry, out.Branch
	c.st.Lower = engine.LowerFrozen
	c.st.Notices = append(c.st.Notices, out.Notices...)
	c.skipped = append(c.skipped, out.Skipped...)
	for path, sum := range out.Known {
		c.known[path] = rawOf(sum)
	}
	return fsop.WriteFileAtomic(c.dir, refsFile, out.Refs, 0o600)
}

const againDir = "again"

// again opens a second making of the base, made when first needed; nil where the
// strategy has no Filler.
func (s *Sandbox) again(ctx context.Context, dir *fsop.Dir) (*fsop.Dir, error) {
	if s.strat.fill == nil {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	if err := dropAgain(dir); err != nil {
		return nil, err
	}
	if err := dir.Mkdir(againDir, 0o700); err != nil {
		return nil, err
	}
	if err := s.strat.fill.Again(ctx, s.rec, s.st.Base, s.dirPath+"/"+againDir); err != nil {
		return nil, fmt.Errorf("make the base once more: %w", err)
	}
	return dir.OpenDir(againDir)
}

func dropAgain(dir *fsop.Dir) error {
	for _, name := range []string{againDir, againDir + ".index"} {
		if err := dir.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}
