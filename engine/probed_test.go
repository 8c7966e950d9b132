package engine

import (
	"context"
	"os"
	"testing"
)

// rung is a Confiner of which only the probe is asked.
type rung struct {
	Confiner
	offers Probe
	now    string
	asked  int
}

func (r *rung) Rung() Rung                           { return RungNative }
func (r *rung) Circumstances() string                { return r.now }
func (r *rung) Probe(context.Context) (Probe, error) { r.asked++; return r.offers, nil }

func TestProbeIsRememberedWhileNothingChanges(t *testing.T) {
	t.Parallel()
	e := &Engine{cfg: Config{StateDir: t.TempDir(), Version: "1"}, deps: Deps{Self: Lease{BootID: "boot"}}}
	r := &rung{offers: Probe{OK: true, Reason: "user namespaces"}, now: "as it is"}
	ask := func(asked int) {
		t.Helper()
		p, err := e.probeRung(t.Context(), r)
		if err != nil || p.OK != r.offers.OK || (p.OK && p.Reason != r.offers.Reason) {
			t.Fatalf("probe: %+v, %v", p, err)
		}
		if r.asked != asked {
			t.Fatalf("asked %d times, not %d", r.asked, asked)
		}
	}
	ask(1)
	ask(1)
	r.now = "a switch was turned"
	ask(2)
	e.cfg.Version = "2"
	ask(3)
	e.deps.Self.BootID = "next"
	ask(4)
	e.forgetProbe(r)
	ask(5)
	r.now = "" // cannot be told
	ask(6)
	ask(7)
	r.now, r.offers = "forbidden", Probe{Reason: "no"}
	ask(8)
	ask(9) // a refusal is asked again: it may have been mended
	r.now, r.offers = "torn", Probe{OK: true, Reason: "yes"}
	if err := os.WriteFile(e.probeNote(r), []byte(`{"ok":tr`), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(10)
	ask(10)
}
