//go:build !linux

package landlock

import (
	"context"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/view"
)

// Confiner is the Landlock rung; this system has none.
type Confiner struct{}

var _ engine.Confiner = (*Confiner)(nil)

var errSystem = fault.New(fault.Unsupported, "confine", "Landlock needs Linux")

// New returns a rung that refuses.
func New(view.Host, func() string) *Confiner { return &Confiner{} }

// Rung is engine.RungLandlock.
func (*Confiner) Rung() engine.Rung { return engine.RungLandlock }

// Probe says that the system is none of Linux.
func (*Confiner) Probe(context.Context) (engine.Probe, error) {
	return engine.Probe{Reason: errSystem.Message, Missing: []string{errSystem.Message}}, nil
}

// Open refuses.
func (*Confiner) Open(context.Context, engine.CageSpec) (engine.Cage, error) { return nil, errSystem }

// Close has nothing to do.
func (*Confiner) Close(context.Context, engine.CageSpec, bool) error { return nil }

// Live lists nothing.
func (*Confiner) Live(context.Context, string) ([]engine.Entry, error) { return nil, nil }
