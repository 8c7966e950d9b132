//go:build linux

package native

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/view"
)

// Confiner is the native rung. The zero value is not usable; see New.
type Confiner struct {
	host  view.Host
	weak  weakness // see sabotage.go
	mu    sync.Mutex
	begun map[string]*holder.Begun // by plan folder
}

var (
	_ engine.Confiner = (*Confiner)(nil)
	_ engine.Beginner = (*Confiner)(nil)
)

// New returns the native rung over the given machine.
func New(host view.Host) *Confiner { return &Confiner{host: host} }

// Rung is engine.RungNative.
func (*Confiner) Rung() engine.Rung { return engine.RungNative }

// Open starts the plan's holder or attaches to it; see engine.Confiner.
func (c *Confiner) Open(ctx context.Context, spec engine.CageSpec) (engine.Cage, error) {
	dir := holder.Dir(spec.PlanDir)
	hash, err := view.Hash(spec)
	if err != nil {
		return nil, err
	}
	cfg := holder.Config{
		Plan: spec.Plan, Dir: dir, Spec: hash, IdleNS: int64(spec.Idle), HostNet: spec.Network == engine.NetworkHost || c.weak.hostNet,
	}
	client, err := holder.Start(ctx, cfg, c.take(spec.PlanDir), func() (json.RawMessage, error) { return c.setup(spec, dir) })
	if err != nil {
		return nil, err
	}
	return &cage{confiner: c, client: client, spec: spec}, nil
}

// Begin starts the plan's holder before it is known what it holds; see
// engine.Beginner.
func (c *Confiner) Begin(spec engine.CageSpec) {
	b, err := holder.Begin(holder.Config{
		Plan: spec.Plan, Dir: holder.Dir(spec.PlanDir), IdleNS: int64(spec.Idle), HostNet: spec.Network == engine.NetworkHost || c.weak.hostNet,
	})
	if err != nil {
		return // Open tries again, and says why not
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun == nil {
		c.begun = map[string]*holder.Begun{}
	}
	c.begun[spec.PlanDir] = b
}

// take returns what was begun for a plan, once; nil when nothing was.
func (c *Confiner) take(planDir string) *holder.Begun {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.begun[planDir]
	delete(c.begun, planDir)
	return b
}

// setup makes the folders the layout needs and computes it.
func (c *Confiner) setup(spec engine.CageSpec, dir string) (json.RawMessage, error) {
	scratch := filepath.Join(dir, "root")
	layout, err := view.Compute(spec, scratch, c.host)
	if err != nil {
		return nil, err
	}
	if c.weak.layout != nil {
		c.weak.layout(&layout)
	}
	for _, d := range append(layout.MakeDirs, scratch) {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fault.Wrap(fault.Unavailable, "open holder", err)
		}
	}
	return json.Marshal(setup{Layout: layout, Sabotage: c.weak.stages})
}

// Close ends the plan's holder; see engine.Confiner.
func (c *Confiner) Close(ctx context.Context, spec engine.CageSpec, force bool) error {
	c.take(spec.PlanDir).Drop()
	return holder.Close(ctx, spec.PlanDir, force)
}

// Live lists the entries of the plan's holder; see engine.Confiner.
func (c *Confiner) Live(ctx context.Context, planDir string) ([]engine.Entry, error) {
	return holder.Live(ctx, planDir)
}

// cage is an attachment to a holder.
type cage struct {
	confiner *Confiner
	client   *holder.Client
	spec     engine.CageSpec
}

// Run runs a command inside; see engine.Cage.
func (c *cage) Run(ctx context.Context, cmd engine.Command) (engine.Exit, error) {
	// Daemons come and go while a holder lives.
	sockets, err := view.Sockets(c.spec, c.confiner.host)
	if err != nil {
		return engine.Exit{}, err
	}
	rules, err := json.Marshal(entryRules{Sockets: sockets})
	if err != nil {
		return engine.Exit{}, fault.Wrap(fault.Internal, "run command", err)
	}
	return c.client.Enter(ctx, cmd, rules)
}

// Release lets go of the holder; nothing is held but its address.
func (c *cage) Release() error { return nil }
