//go:build linux

package native

import (
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/view"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	p, err := New(view.OS{}).Probe(t.Context())
	if err != nil || !p.OK {
		t.Fatalf("%+v %v", p, err)
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
