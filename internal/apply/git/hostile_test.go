package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

// TestV28_V29_V30_V32_ApplyRunsNothing: the repository's configuration, an
// included file that the apply itself checks out, its hooks and its attributes
// name programs wherever git would start one. None runs in prepare, commit,
// verify, undo or abandon.
func TestV28_V29_V30_V32_ApplyRunsNothing(t *testing.T) {
	t.Parallel()
	for _, history := range []bool{true, false} {
		for _, to := range []engine.ApplyTo{engine.ToCommit, engine.ToBranch} {
			s := newScene(t, "a", ten, "b.proc", "b", "included.cfg", "# nothing yet\n")
			s.box.Write("a", "plan\n", "included.cfg", s.real.HostileConfig())
			if history {
				s.box.Commit("plan")
			}
			req := s.request(history)
			req.Branch, req.Merge = "x", true
			s.real.Write("z", "z").Commit("moved on")
			s.real.MakeHostile() // plants the include of a file that the plan changes, and writes it
			s.real.Git("-c", "core.fsmonitor=false", "-c", "filter.evil.clean=", "-c", "filter.evil.smudge=", "-c", "filter.evil.required=false", "-c", "filter.evilproc.process=", "-c", "core.hooksPath=/dev/null", "checkout", "-q", "--", "included.cfg")
			s.real.ForgetMarkers()
			if !history { // a path with a filter is refused without the sandbox's own commit
				mustDo(t, os.WriteFile(filepath.Join(s.real.Dir, ".git/info/attributes"), []byte("* diff=evil merge=evil\n"), 0o644))
			}

			tg := s.target(to)
			check := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if ran := s.real.Ran(); len(ran) > 0 {
					t.Fatalf("%s (history %v, to %s) ran %s", what, history, to, ran)
				}
			}
			state, err := tg.Prepare(t.Context(), req)
			check("prepare", err)
			check("commit", tg.Commit(t.Context(), state))
			check("verify", tg.Verify(t.Context(), state))
			check("check undo", tg.CheckUndo(t.Context(), state))
			check("undo", tg.Undo(t.Context(), state))
			check("abandon", tg.Abandon(t.Context(), s.dir, state))
			s.noLeftovers()
			_, _ = s.real.Try("status")
			if len(s.real.Ran()) == 0 {
				t.Fatal("the traps do not bite")
			}
		}
	}
}

// TestHostileHistory: commits whose trees would write outside the checkout or
// into its git folder never get as far as a file.
func TestHostileHistory(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	blob := s.box.Git("rev-parse", "HEAD:a")
	for _, tree := range []string{"100644 blob " + blob + "\t..\n", "100644 blob " + blob + "\t.git\n", "100644 blob " + blob + "\t.GiT\n"} {
		id := gittest.MakeTree(t, s.box, tree)
		s.box.Git("update-ref", "HEAD", s.box.Git("commit-tree", "-m", "bad", "-p", s.base, id))
		before := s.real.State()
		if _, err := s.target(engine.ToCommit).Prepare(t.Context(), s.request(true)); err == nil {
			t.Fatalf("%q was accepted", tree)
		}
		if s.real.State() != before {
			t.Fatal("something changed")
		}
		s.noLeftovers()
	}
}
