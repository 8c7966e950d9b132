//go:build !linux

package none

import (
	"context"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Confiner is the rung that confines nothing; this system cannot keep hold of
// process trees yet.
type Confiner struct{}

var _ engine.Confiner = (*Confiner)(nil)

var errSystem = fault.New(fault.Unsupported, "confine", "running commands needs Linux")

// New returns a rung that refuses.
func New(func() string) *Confiner { return &Confiner{} }

// Rung is engine.RungNone.
func (*Confiner) Rung() engine.Rung { return engine.RungNone }

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
