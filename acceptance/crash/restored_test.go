//go:build linux

package crash

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ambit-run/ambit/engine"
)

// meanwhile is a store in whose back something happens once, right after plans
// were listed.
type meanwhile struct {
	engine.Store
	do func()
}

func (m *meanwhile) FindPlans(ctx context.Context, q engine.PlanQuery) ([]*engine.Plan, error) {
	ps, err := m.Store.FindPlans(ctx, q)
	if do := m.do; do != nil && len(q.Status) == 0 {
		m.do = nil
		do()
	}
	return ps, err
}

// TestRecoverLeavesARestoredPlan: a plan that was discarded when recover looked,
// and restored before recover came to it, stays where the person brought it.
func TestRecoverLeavesARestoredPlan(t *testing.T) {
	w := newWorld(t, "")
	var f faults
	eng := w.newEngine(&f)
	ctx := context.Background()
	p := w.stageFaults(eng, []string{"PATH=" + os.Getenv("PATH"), "DIR=" + w.dir})
	if _, err := eng.Discard(ctx, p.ID); err != nil {
		t.Fatal(err)
	}
	hit := false
	w.store = func(s engine.Store) engine.Store {
		return &meanwhile{Store: s, do: func() {
			hit = true
			if _, err := eng.Restore(ctx, p.ID); err != nil {
				t.Error(err)
			}
		}}
	}
	if _, err := w.newEngine(&f).Recover(ctx, ""); err != nil || !hit {
		t.Fatal(err, hit)
	}
	if _, err := os.Stat(p.Dir); err != nil {
		t.Errorf("the restored plan is not in its place: %v", err)
	}
	if _, err := eng.Review(ctx, engine.ReviewRequest{Plan: p.ID}); err != nil {
		t.Errorf("it cannot be reviewed: %v", err)
	}

	// Where it did get into the trash, recover brings it back.
	trash := filepath.Join(w.home, "trash", p.ID)
	if err := os.Rename(p.Dir, trash); err != nil {
		t.Fatal(err)
	}
	rep, err := eng.Recover(ctx, "")
	if err != nil || len(rep.Plans) != 1 || rep.Plans[0].Error != "" || rep.Plans[0].Is != engine.PlanReady {
		t.Fatalf("%+v, %v", rep, err)
	}
	if _, err := eng.Review(ctx, engine.ReviewRequest{Plan: p.ID}); err != nil {
		t.Errorf("brought back, it cannot be reviewed: %v", err)
	}

	// A discarded plan whose folder a crash left in its place goes to the trash.
	if _, err := eng.Discard(ctx, p.ID); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(trash, p.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := eng.Recover(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(trash); err != nil {
		t.Errorf("the discard was not finished: %v", err)
	}
}
