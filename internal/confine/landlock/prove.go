//go:build linux

package landlock

import (
	"context"
	"crypto/rand"
	"os"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/probe"
	"github.com/ambit-run/ambit/internal/confine/view"
)

// Prove runs the probe inside; see engine.Cage.
func (c *cage) Prove(ctx context.Context) (engine.Proof, error) {
	fail := func(err error) (engine.Proof, error) {
		return engine.Proof{}, fault.Wrap(fault.Unavailable, "prove boundary", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	abi, err := domain.ABI()
	if err != nil {
		return fail(err)
	}
	s := probe.Subject{
		Rung: engine.RungLandlock, Spec: c.spec, Exe: exe, HomeDir: c.reach.Home, TempDir: c.reach.Temp,
		Real: c.spec.Real, Shown: c.reach.Shown, Run: c.Run, Nonce: rand.Text(), Getenv: c.c.host.Getenv,
	}
	for _, p := range c.spec.Real {
		s.Real = append(s.Real, view.Aliases(c.c.host, p)...)
	}
	for _, en := range c.spec.Sandbox {
		// A sandbox lies in ambit's state; what lies elsewhere is the resource itself.
		if !strings.HasPrefix(en.Path, c.spec.StateDir+"/") {
			s.Open = append(s.Open, en.Root)
		}
	}
	s.Lines, s.NotCovered = claims(c.spec, abi)
	return probe.Prove(ctx, s)
}

// claims says which lines this rung can claim on a kernel with the given Landlock
// ABI, and what it does not cover.
func claims(spec engine.CageSpec, abi int) (lines, notCovered []string) {
	host := spec.Network == engine.NetworkHost
	drop := []string{probe.LineProcesses}
	notCovered = []string{
		"original paths: they lead to the real resource, which cannot be written; the sandbox lies elsewhere",
		"mode, owner, times and extended attributes of your other files can be changed",
		"names of your files and processes can be seen",
		"limits on memory, processor time and disk space",
		"processes that are left when ambit and its guard are killed at the same moment, until the plan is opened again",
	}
	if len(spec.Real) == 0 {
		drop = append(drop, probe.LineRealTree)
	}
	if abi < domain.ABIScope {
		drop = append(drop, probe.LineSignal)
		notCovered = append(notCovered, "your other processes can be signalled (needs Landlock ABI 6, Linux 6.12)")
	}
	if !host {
		// No socket leads anywhere, an own loopback neither.
		return probe.Without(probe.Claims(spec), append(drop, probe.LineLoopback)...), notCovered
	}
	notCovered = append(notCovered, "the network: everything this machine reaches can be reached, its local services included")
	if abi < domain.ABIScope {
		drop = append(drop, probe.LineAbstract)
		notCovered = append(notCovered, "abstract unix sockets (needs Landlock ABI 6, Linux 6.12)")
	}
	if abi < domain.ABIUnixSockets {
		drop = append(drop, probe.LineSockets)
		notCovered = append(notCovered, "sockets of your session: docker, ssh- and gpg-agent, D-Bus, X11 (needs Landlock ABI 9, or --network none)")
	}
	return probe.Without(probe.Claims(spec), drop...), notCovered
}
