//go:build linux

package native

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/probe"
	"github.com/ambit-run/ambit/internal/confine/view"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	p, err := New(view.OS{}).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	switch refusal := refused(); {
	case refusal == nil && !p.OK:
		t.Errorf("namespaces can be made here, and it says %+v", p)
	case refusal != nil && (p.OK || !strings.Contains(p.Reason, "user namespaces") || len(p.Missing) == 0):
		t.Errorf("no namespaces can be made here (%v), and it says %+v", refusal, p)
	}
}

// TestProofHolds proves every combination that people use.
func TestProofHolds(t *testing.T) {
	t.Parallel()
	for _, home := range []engine.HomeMode{engine.HomeTools, engine.HomeHidden, engine.HomeRO} {
		for _, network := range []engine.Network{engine.NetworkNone, engine.NetworkHost} {
			t.Run(string(home)+" "+string(network), func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				s.spec.Home, s.spec.Network = home, network
				write(t, 0o600, "key", s.spec.HomeDir, ".ssh/id")
				write(t, 0o600, "x", s.spec.HomeDir, "notes")
				write(t, 0o755, "#!/bin/sh\n", s.spec.HomeDir, ".cargo/bin/x")
				s.open()
				proof := s.prove()
				for _, l := range proof.Lines {
					if !l.OK {
						t.Errorf("%+v", l)
					}
				}
				if ok, held, all := proof.Proved(); ok {
					t.Logf("%d of %d, %v", held, all, proof.Lines)
				}
				if out, _ := s.sh("find / -xdev -name '.ambit-proof*' 2>/dev/null; ls -A"); out != "a.txt\n" {
					t.Errorf("the probe left %q", out)
				}
			})
		}
	}
}

func (s *stage) prove() engine.Proof {
	s.t.Helper()
	p, err := s.cage.Prove(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// TestProofOfUnusualPlans proves where there is less to try, or more.
func TestProofOfUnusualPlans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*stage)
		less   []string // lines that have nothing to try
	}{
		"no home":                          {func(s *stage) { s.spec.HomeDir += "/missing" }, []string{probe.LineHome}},
		"a read-only home without secrets": {func(s *stage) { s.spec.Home = engine.HomeRO }, []string{probe.LineHome, probe.LinePrivate}},
		"the home itself as sandbox": {func(s *stage) {
			write(s.t, 0o600, "key", s.spec.HomeDir, ".ssh/id")
			write(s.t, 0o600, "x", s.spec.HomeDir, "notes")
			s.real = s.spec.HomeDir
			m := &s.spec.Sandbox[0].Mounts[0]
			s.spec.Sandbox[0].Root, m.Target, m.Lower = s.real, s.real, []string{s.real}
		}, nil},
		"nothing isolated": {func(s *stage) {
			s.spec.Sandbox[0].Mounts = []engine.Mount{{Kind: engine.MountBind, Source: s.real, Target: s.real}}
		}, []string{probe.LineRealTree, probe.LineWorkspace}},
		"a read-only sandbox": {func(s *stage) { s.spec.Sandbox[0].ReadOnly = true }, []string{probe.LineRealTree, probe.LineWorkspace}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c.change(s)
			s.open()
			proof := s.prove()
			for _, l := range proof.Lines {
				if !l.OK {
					t.Errorf("%+v", l)
				}
			}
			if want := len(probe.Claims(s.spec)); len(proof.Lines) < want-len(c.less) {
				t.Errorf("%d lines of %d", len(proof.Lines), want)
			}
			if left, _ := filepath.Glob(filepath.Join(s.real, ".ambit-proof*")); len(left) > 0 {
				t.Errorf("the probe left %v in the real tree", left)
			}
			if out, _ := s.sh("cat ~/.ssh/id 2>/dev/null"); out != "" {
				t.Errorf("a secret shows: %q", out)
			}
		})
	}
}
