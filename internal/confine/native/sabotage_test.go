//go:build linux

package native

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/probe"
	"github.com/ambit-run/ambit/internal/confine/view"
)

// TestC82_EachLineOfTheProofCanFail takes one protection away after another and
// sees the line of the proof that stands for it fail. A line without a case here
// fails, too.
func TestC82_EachLineOfTheProofCanFail(t *testing.T) {
	t.Parallel()
	stages := func(names ...string) func(*stage) {
		return func(s *stage) { s.c.weak.stages = names }
	}
	layout := func(change func(*stage, *view.Layout)) func(*stage) {
		return func(s *stage) { s.c.weak.layout = func(l *view.Layout) { change(s, l) } }
	}
	// show adds a bind mount of the host as the last op, over every mask.
	show := func(path func(*stage) string, readOnly bool) func(*stage) {
		return layout(func(s *stage, l *view.Layout) {
			p := path(s)
			l.Ops = append(l.Ops, view.Op{Kind: view.KindBind, Source: p, Target: p, ReadOnly: readOnly})
			l.Writable = append(l.Writable, p)
		})
	}
	// The host's own loopback is up and not ours to raise.
	hostNet := func(s *stage) { s.c.weak.hostNet, s.c.weak.stages = true, []string{weakLoopback} }
	state := func(s *stage) string { return s.spec.StateDir }
	cases := []struct {
		line  string
		weak  func(*stage)
		needs func(t *testing.T)
	}{
		{line: probe.LineRealTree, weak: show(func(s *stage) string { return s.real }, false)},
		{line: probe.LineOutside, weak: show(state, false)},
		{line: probe.LineHome, weak: show(func(s *stage) string { return s.spec.HomeDir }, true)},
		{line: probe.LineState, weak: show(state, true)},
		{line: probe.LineDescriptors, weak: stages(weakFiles)},
		{line: probe.LineSockets, weak: show(state, true), needs: belowABI(domain.ABIUnixSockets)},
		{line: probe.LineAbstract, weak: func(s *stage) { s.c.weak.hostNet, s.c.weak.stages = true, []string{weakLandlock, weakLoopback} }},
		{line: probe.LineTCP, weak: hostNet},
		{line: probe.LineUDP, weak: hostNet},
		{line: probe.LineIPv6, weak: hostNet, needs: hasIPv6},
		{line: probe.LineRaw, weak: stages(weakSeccomp, weakCaps)},
		{line: probe.LineProcesses, weak: stages(weakProc)},
		{line: probe.LineSignal, weak: stages(weakPids, weakProc, weakLandlock)},
		{line: probe.LineCapability, weak: stages(weakCaps)},
		{line: probe.LineMount, weak: stages(weakCaps, weakSeccomp, weakLandlock)},
		{line: probe.LineUserns, weak: stages(weakUserns, weakSeccomp)},
		{line: probe.LineTerminal, weak: stages(weakSeccomp)},
		{line: probe.LineWorkspace, weak: layout(func(s *stage, l *view.Layout) {
			for i := range l.Ops {
				if l.Ops[i].Target == s.real {
					l.Ops[i].ReadOnly = true
				}
			}
		})},
		{line: probe.LinePrivate, weak: layout(func(_ *stage, l *view.Layout) {
			l.Writable = slices.DeleteFunc(l.Writable, func(p string) bool { return p == "/tmp" })
		})},
		{line: probe.LineShell, weak: layout(func(_ *stage, l *view.Layout) {
			sh, err := filepath.EvalSymlinks("/bin/sh")
			if err != nil {
				panic(err)
			}
			l.Ops = append(l.Ops, view.Op{Kind: view.KindMask, Target: sh})
		})},
		{line: probe.LineLoopback, weak: stages(weakLoopback)},
	}
	for _, line := range probe.Claims(engine.CageSpec{Network: engine.NetworkNone}) {
		if n := len(slices.DeleteFunc(slices.Clone(cases), func(c struct {
			line  string
			weak  func(*stage)
			needs func(t *testing.T)
		},
		) bool {
			return c.line != line
		})); n != 1 {
			t.Errorf("%q has %d cases", line, n)
		}
	}
	for _, c := range cases {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			if c.needs != nil {
				c.needs(t)
			}
			s := newStage(t)
			write(t, 0o600, "x", s.spec.HomeDir, "notes")
			c.weak(s)
			s.open()
			proof := s.prove()
			i := slices.IndexFunc(proof.Lines, func(l engine.ProofLine) bool { return l.Name == c.line })
			if i < 0 {
				t.Fatalf("the proof has no such line: %+v", proof.Lines)
			}
			if l := proof.Lines[i]; l.OK {
				t.Errorf("without its protection the line still holds: %+v", l)
			} else {
				t.Logf("%+v", l)
			}
			if _, err := os.Lstat(filepath.Join(s.real, "a.txt")); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(filepath.Join(s.real, ".ambit-proof*")); len(left) > 0 {
				t.Errorf("the probe left %v", left)
			}
		})
	}
}

// belowABI skips where Landlock is a second protection of its own.
func belowABI(abi int) func(t *testing.T) {
	return func(t *testing.T) {
		if have, err := domain.ABI(); err != nil || have >= abi {
			t.Skipf("Landlock ABI %d protects this too (%v)", have, err)
		}
	}
}

func hasIPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: " + err.Error())
	}
	l.Close()
}
