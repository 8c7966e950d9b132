//go:build linux

package native

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"slices"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/probe"
	"github.com/ambit-run/ambit/internal/confine/view"
)

// Prove runs the probe inside; see engine.Cage.
func (c *cage) Prove(ctx context.Context) (engine.Proof, error) {
	host := c.confiner.host
	layout, err := view.Compute(c.spec, filepath.Join(holder.Dir(c.spec.PlanDir), "root"), host)
	if err != nil {
		return engine.Proof{}, err
	}
	s := probe.Subject{
		Rung: engine.RungNative, Spec: c.spec, Exe: insideExe, Lines: probe.Claims(c.spec),
		HomeDir: c.spec.HomeDir, TempDir: "/tmp", Shown: layout.Shown, Namespaced: true, Run: c.Run, Nonce: rand.Text(), Getenv: host.Getenv,
	}
	for _, en := range c.spec.Sandbox {
		if unisolated(en) {
			s.Open = append(s.Open, en.Root)
			continue
		}
		if !en.ReadOnly {
			s.Real = append(s.Real, en.Root)
			s.Real = append(s.Real, view.Aliases(host, en.Root)...)
		}
	}
	s.Real = append(s.Real, c.spec.Real...)
	if s.NotCovered, err = notCovered(c.spec, &s.Lines); err != nil {
		return engine.Proof{}, fault.Wrap(fault.Unavailable, "prove boundary", err)
	}
	return probe.Prove(ctx, s)
}

// unisolated reports whether a sandbox is the real resource itself, which the
// person asked for (strategy none).
func unisolated(en engine.Entrance) bool {
	return slices.ContainsFunc(en.Mounts, func(m engine.Mount) bool {
		return m.Kind == engine.MountBind && m.Source == m.Target && !m.ReadOnly
	})
}

// notCovered says what this rung does not enforce here, and takes the lines that
// it cannot claim.
func notCovered(spec engine.CageSpec, lines *[]string) ([]string, error) {
	out := []string{"limits on memory, processor time and disk space"}
	if spec.Network != engine.NetworkHost {
		return out, nil
	}
	out = append(out, "the network: everything this machine reaches can be reached, its local services included")
	abi, err := domain.ABI()
	if err != nil {
		return nil, err
	}
	if abi < domain.ABIScope {
		*lines = probe.Without(*lines, probe.LineAbstract)
		out = append(out, "abstract unix sockets of the host (needs Landlock ABI 6, Linux 6.12)")
	}
	return out, nil
}
