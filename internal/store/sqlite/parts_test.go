package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// TestOnlyChangedRowsAreSent: what this process wrote last and has not changed is
// not written again, which a row that was altered behind its back shows; and what
// another process wrote meanwhile is not taken for it.
func TestOnlyChangedRowsAreSent(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "ambit.db")
	open := func() *Store {
		s, err := Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := open()
	p := &engine.Plan{ID: "p", CreatedAt: time.Now(), Steps: []engine.Step{{ID: "a", Title: "A"}, {ID: "b", Title: "B"}, {ID: "c", Title: "C"}}}
	must(s.CreatePlan(ctx, p))
	must(s.UpdatePlan(ctx, p))
	titles := func(want ...string) {
		t.Helper()
		got, err := s.Plan(ctx, "p")
		must(err)
		var have []string
		for _, st := range got.Steps {
			have = append(have, st.Title)
		}
		if len(have) != len(want) {
			t.Fatalf("%q, want %q", have, want)
		}
		for i := range want {
			if have[i] != want[i] {
				t.Errorf("%q, want %q", have, want)
			}
		}
	}
	_, err := s.write.ExecContext(ctx, `UPDATE steps SET title = 'altered' WHERE id = 'b'`)
	must(err)
	p.Steps[0].Title = "A2"
	must(s.UpdatePlan(ctx, p))
	titles("A2", "altered", "C")

	// Another process changes a step; the plan read again and changed back is written.
	other := open()
	q, err := other.Plan(ctx, "p")
	must(err)
	q.Steps[0].Title, q.Steps[1].Title = "A3", "B3"
	must(other.UpdatePlan(ctx, q))
	p, err = s.Plan(ctx, "p")
	must(err)
	p.Steps[0].Title = "A2"
	must(s.UpdatePlan(ctx, p))
	titles("A2", "B3", "C")

	// A step that is left out goes.
	p.Steps = p.Steps[1:]
	must(s.UpdatePlan(ctx, p))
	titles("B3", "C")

	// The same id, drawn again.
	must(other.DeletePlan(ctx, "p"))
	again := &engine.Plan{ID: "p", CreatedAt: time.Now().Add(time.Second), Steps: []engine.Step{{ID: "c", Title: "C"}}}
	must(other.CreatePlan(ctx, again))
	for again.Version < p.Version {
		must(other.UpdatePlan(ctx, again))
	}
	again.Steps = append(again.Steps, engine.Step{ID: "b", Title: "B3"})
	must(s.UpdatePlan(ctx, again))
	titles("C", "B3")
}
