package none

import (
	"context"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/guard"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/view"
)

// ArgGuard starts the binary as this rung's guard process.
const ArgGuard = "ambit-guard-none"

// Stages are what the guard process does: nothing but guard.
func Stages() holder.Stages {
	return holder.Stages{
		Prepare: func(holder.Inside) error { return nil },
		Seal:    func(holder.Inside, holder.Job) error { return nil },
	}
}

// Confiner is the rung that confines nothing.
type Confiner struct{ token func() string }

var _ engine.Confiner = (*Confiner)(nil)

// New returns the rung. token yields unguessable names fit for files.
func New(token func() string) *Confiner { return &Confiner{token: token} }

// Rung is engine.RungNone.
func (*Confiner) Rung() engine.Rung { return engine.RungNone }

// Probe has nothing to ask for.
func (*Confiner) Probe(context.Context) (engine.Probe, error) {
	return engine.Probe{OK: true, Reason: "confines nothing"}, nil
}

// Open checks that nothing runs under another spec.
func (c *Confiner) Open(ctx context.Context, spec engine.CageSpec) (engine.Cage, error) {
	hash, err := view.Hash(spec)
	if err != nil {
		return nil, err
	}
	w := &guard.Warden{PlanDir: spec.PlanDir, Spec: hash, Arg: ArgGuard, NewToken: c.token}
	if err := w.Open(ctx); err != nil {
		return nil, err
	}
	return &cage{w: w, spec: spec}, nil
}

// Close ends the plan's commands; see engine.Confiner.
func (c *Confiner) Close(ctx context.Context, spec engine.CageSpec, force bool) error {
	return guard.Close(ctx, spec.PlanDir, force)
}

// Live lists the plan's commands; see engine.Confiner.
func (c *Confiner) Live(_ context.Context, planDir string) ([]engine.Entry, error) {
	return guard.Live(planDir)
}

type cage struct {
	w    *guard.Warden
	spec engine.CageSpec
}

// Run runs a command; see engine.Cage.
func (c *cage) Run(ctx context.Context, cmd engine.Command) (engine.Exit, error) {
	return c.w.Run(ctx, cmd)
}

// Release has nothing to let go of.
func (c *cage) Release() error { return nil }

// Prove proves nothing: there is nothing to prove.
func (c *cage) Prove(context.Context) (engine.Proof, error) {
	return engine.Proof{Rung: engine.RungNone, Network: engine.NetworkHost, NotCovered: []string{
		"everything: commands run with all your rights, on your files, your network and your other processes",
	}}, nil
}
