//go:build linux

package crash

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine"
)

// confiners are the real ones; with brittle set, the first git of ambit's own
// that runs in them meets a holder that has just died.
func (w *world) confiners() []engine.Confiner {
	all := confine.All()
	for i := range all {
		if w.brittle != nil {
			all[i] = &brittle{all[i], w.brittle}
		}
	}
	return all
}

type brittle struct {
	engine.Confiner
	armed *bool
}

func (b *brittle) Open(ctx context.Context, spec engine.CageSpec) (engine.Cage, error) {
	cage, err := b.Confiner.Open(ctx, spec)
	return &brittleCage{cage, b.armed}, err
}

type brittleCage struct {
	engine.Cage
	armed *bool
}

func (c *brittleCage) Run(ctx context.Context, cmd engine.Command) (engine.Exit, error) {
	if *c.armed && cmd.Name == "git" {
		*c.armed = false
		return engine.Exit{}, errors.New("the holder died")
	}
	return c.Cage.Run(ctx, cmd)
}

// TestUnsettledStepIsNotRunOnTopOfItself: the step's command ended well, and
// before its result was secured the holder died. A resume starts from the state
// before the step, so that what it appends is there once.
func TestUnsettledStepIsNotRunOnTopOfItself(t *testing.T) {
	w := newWorld(t, "")
	armed := true
	w.brittle = &armed
	var f faults
	eng := w.newEngine(&f)
	ctx, environ := context.Background(), []string{"PATH=" + os.Getenv("PATH"), "DIR=" + w.dir}
	p := w.stageFaults(eng, environ)
	if _, err := eng.Run(ctx, engine.RunRequest{Plan: p.ID, Environ: environ}); err == nil {
		t.Fatal("the run did not notice")
	}
	res, err := eng.Run(ctx, engine.RunRequest{Plan: p.ID, Environ: environ})
	if err != nil || res.Plan.Status != engine.PlanReview { // on top of itself the step fails: what it removes is gone
		t.Fatalf("the resume ended as %v, %v", res.Plan.Status, err)
	}
	if _, err := eng.Apply(ctx, engine.ApplyRequest{Plan: p.ID}); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{w.repo, w.dir} {
		raw, err := os.ReadFile(root + "/f1.txt")
		if err != nil || string(raw) != "line f1.txt\nmore\n" {
			t.Errorf("%s/f1.txt is %q, %v", root, raw, err)
		}
	}
}
