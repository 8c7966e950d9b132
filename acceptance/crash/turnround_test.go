//go:build linux

package crash

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	applygit "github.com/ambit-run/ambit/internal/apply/git"
	applytree "github.com/ambit-run/ambit/internal/apply/tree"
)

// meddled is a target before whose Commit somebody does something.
type meddled struct {
	engine.Target
	before func()
}

func (m *meddled) Commit(ctx context.Context, state json.RawMessage) error {
	if m.before != nil {
		m.before()
		m.before = nil
	}
	return m.Target.Commit(ctx, state)
}

// TestDecisionIsTurnedRound: somebody edits a file between prepare and commit,
// when another resource of the plan has been carried out already. Everything goes
// back, the person's edit stays, and the plan can be applied later.
func TestDecisionIsTurnedRound(t *testing.T) {
	w := newWorld(t, "")
	git := w.hostGit()
	files := applytree.New(applytree.Options{})
	repo := &meddled{Target: applygit.New(applygit.Config{Git: git, Files: files}, engine.ToCommit)}
	eng := w.engineWith(git, files, repo)
	ctx := context.Background()
	p := w.faultPlan(eng, []string{"PATH=" + os.Getenv("PATH"), "DIR=" + w.dir})
	edited := filepath.Join(w.repo, "f1.txt")
	repo.before = func() {
		if w.treeHash(w.dir) == w.oldDir {
			t.Error("the directory was to be carried out before the checkout")
		}
		w.write(edited, "the person's own\n")
	}
	_, err := eng.Apply(ctx, engine.ApplyRequest{Plan: p.ID})
	if c := fault.CodeOf(err); c != fault.Conflict && c != fault.IdentityChanged {
		t.Fatalf("the apply ended with %v", err)
	}
	if !slices.ContainsFunc(fault.As(err).Paths, func(s string) bool { return strings.Contains(s, "f1.txt") }) && !strings.Contains(err.Error(), "f1.txt") {
		t.Errorf("the error does not name the file: %v", err)
	}
	if w.treeHash(w.dir) != w.oldDir {
		t.Error("the directory did not go back")
	}
	if raw, err := os.ReadFile(edited); err != nil || string(raw) != "the person's own\n" {
		t.Errorf("the person's edit is %q, %v", raw, err)
	}
	if st := strings.TrimSpace(w.git("status", "--porcelain")); st != "M f1.txt" {
		t.Errorf("git status: %q", st)
	}
	if rep, err := eng.Recover(ctx, ""); err != nil || len(rep.Plans) != 0 {
		t.Errorf("recover had something to do: %+v, %v", rep, err)
	}
	w.git("checkout", "-q", "f1.txt")
	if w.treeHash(w.repo) != w.oldRepo {
		t.Error("besides the edit, the checkout is not as it was")
	}
	if _, err := eng.Apply(ctx, engine.ApplyRequest{Plan: p.ID}); err != nil {
		t.Errorf("the plan cannot be applied any more: %v", err)
	}
}
