//go:build linux

package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rows is a Store of which only the plans are asked.
type rows struct {
	Store
	plans []*Plan
	asked func()
}

func (r *rows) FindPlans(context.Context, PlanQuery) ([]*Plan, error) {
	if r.asked != nil {
		r.asked()
	}
	return r.plans, nil
}

func TestSweepKeepsWhatIsSomebodys(t *testing.T) {
	t.Parallel()
	e := &Engine{cfg: Config{StateDir: t.TempDir()}}
	mkdir := func(names ...string) {
		for _, n := range names {
			if err := os.MkdirAll(filepath.Join(e.plansDir(), n), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	mkdir("mine-1", "empty", "full/of", ".preview-dead/sub")
	store := &rows{plans: []*Plan{{ID: "mine-1"}}}
	store.asked = func() { mkdir("new-2") } // its row would be there by now
	e.deps.Store = store

	dir, remove, err := e.probeFolder(previewPrefix)
	if err != nil {
		t.Fatal(err)
	}
	said, err := e.sweepFolders(t.Context())
	if err != nil || len(said) != 0 {
		t.Errorf("beside a preview: %q, %v", said, err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the preview's folder was taken away: %v", err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}

	// A process that another test is just starting can hold the lock a moment longer.
	for end := time.Now().Add(time.Minute); len(said) == 0 && err == nil && time.Now().Before(end); {
		said, err = e.sweepFolders(t.Context())
	}
	if err != nil || len(said) != 3 {
		t.Errorf("%q, %v", said, err)
	}
	for _, want := range []string{"removed the empty folder ", "kept ", "removed what an interrupted command left in "} {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no %q in %q", want, said)
		}
	}
	entries, err := os.ReadDir(e.plansDir())
	var left []string
	for _, en := range entries {
		left = append(left, en.Name())
	}
	if err != nil || !slices.Equal(left, []string{"full", "mine-1", "new-2"}) {
		t.Errorf("%q, %v", left, err)
	}
}
