package gitx_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

// hostile returns a repository full of traps, shown to work.
func hostile(t *testing.T) (r *gittest.Repo, one, two string) {
	t.Helper()
	r = gittest.New(t)
	one = r.Write("a", "1", "b.proc", "b", "sub/c", "c").Commit("one")
	two = r.Write("a", "2").Commit("two")
	r.MakeHostile()
	r.Write("a", "3", "untracked", "u", "b.proc", "B")
	// The traps must bite, or the test below shows nothing.
	for _, args := range [][]string{{"status"}, {"add", "-A"}, {"diff", "HEAD"}, {"log", "-p", "-1"}, {"update-ref", "refs/x/y", one}, {"merge-tree", "--write-tree", one, two}} {
		_, _ = r.Try(args...) // whatever a hostile configuration makes of it
	}
	ran := strings.Join(r.Ran(), " ")
	for _, want := range []string{"fsmonitor", "process", "clean", "textconv", "hook-reference-transaction"} {
		if !strings.Contains(ran, want) {
			t.Fatalf("trap %s does not bite; only %s", want, ran)
		}
	}
	_, _ = r.Try("-c", "core.fsmonitor=false", "-c", "filter.evil.required=false", "-c", "filter.evil.clean=", "-c", "filter.evilproc.process=", "reset", "-q")
	r.ForgetMarkers()
	return r, one, two
}

// TestV28_V29_V30_V32_NothingOfTheRepositoryRuns takes every operation of this
// package through a repository whose configuration, included configuration,
// hooks and attributes name programs wherever git would start one.
func TestV28_V29_V30_V32_NothingOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	r, one, two := hostile(t)
	g := gittest.Git(t)
	repo := r.Open(g)
	ctx := t.Context()
	p := plain(t, repo)
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if ran := r.Ran(); len(ran) > 0 {
			t.Fatalf("%s ran %s", what, ran)
		}
	}
	h, err := repo.Head(ctx)
	must("head", err)
	_, err = repo.Refs(ctx)
	must("refs", err)
	_, _, err = repo.Identity(ctx)
	must("identity", err)
	must("move", repo.UpdateRefs(ctx, "x", gitx.RefChange{Name: "refs/ambit/x", New: one}))
	must("delete", repo.UpdateRefs(ctx, "x", gitx.RefChange{Name: "refs/ambit/x", Old: one}))
	d, err := p.Dirty(ctx, h.Commit)
	must("dirty", err)
	if len(d.Modified) == 0 || len(d.Untracked) == 0 {
		t.Fatalf("dirty saw nothing: %+v", d)
	}
	_, err = p.Ignored(ctx)
	must("ignored", err)
	_, err = p.DiffTrees(ctx, one, two)
	must("diff", err)
	_, err = p.Tree(ctx, two)
	must("tree", err)
	_, _, err = p.ReadObject(ctx, two+":a", 100)
	must("cat", err)
	_, err = p.WithObjects(t.TempDir()).HashObject(ctx, "blob", strings.NewReader("x"))
	must("hash", err)
	dest := t.TempDir()
	f := p.WithWorkTree(dest).WithIndex(filepath.Join(t.TempDir(), "index"))
	must("fill", f.Fill(ctx, two))
	l, err := f.Leftovers(ctx)
	must("leftovers", err)
	if len(l.Filtered["evil"]) == 0 {
		t.Errorf("no filtered file was noticed: %+v", l)
	}
	must("fill paths", f.FillPaths(ctx, []string{"a"}))
	if b, err := os.ReadFile(filepath.Join(dest, "a")); err != nil || string(b) != "2" {
		t.Errorf("a: %q, %v", b, err)
	}
	_, err = f.Dirty(ctx, two)
	must("dirty checkout", err)
	_, err = repo.Run(ctx, gitx.Opts{}, "worktree", "list", "--porcelain", "-z")
	must("worktree list", err)
	wt := filepath.Join(t.TempDir(), "wt")
	_, err = repo.Run(ctx, gitx.Opts{Values: []string{wt, one}}, "worktree", "add", "--quiet", "--no-checkout", "--detach", "--lock")
	must("worktree add", err)
	_, err = repo.Run(ctx, gitx.Opts{Values: []string{wt}}, "worktree", "unlock")
	must("worktree unlock", err)
	_, err = repo.Run(ctx, gitx.Opts{Values: []string{wt}}, "worktree", "remove", "--force")
	must("worktree remove", err)
}

// TestV32_IncludedFileAppearsLater: the file that the configuration includes is
// made by a checkout after the repository was opened.
func TestV32_IncludedFileAppearsLater(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	one := r.Write("a", "1", ".gitattributes", gittest.HostileAttributes).Commit("one")
	r.Git("config", "include.path", filepath.Join(r.Dir, "included.cfg"))
	g := gittest.Git(t)
	repo := r.Open(g)
	p := plain(t, repo)
	r.Write("included.cfg", r.HostileConfig(), "a", "2")
	if d, err := p.Dirty(t.Context(), one); err != nil || len(d.Modified) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := repo.UpdateRefs(t.Context(), "x", gitx.RefChange{Name: "refs/ambit/x", New: one}); err != nil {
		t.Fatal(err)
	}
	if err := p.WithWorkTree(t.TempDir()).WithIndex(filepath.Join(t.TempDir(), "i")).Fill(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if ran := r.Ran(); len(ran) > 0 {
		t.Fatalf("ran %s", ran)
	}
	_, _ = r.Try("status")
	if len(r.Ran()) == 0 {
		t.Fatal("the trap does not bite")
	}
}

// TestMissingObjectOfAPartialClone: nothing is fetched for it, and no program of
// the remote runs.
func TestMissingObjectOfAPartialClone(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("a", "1").Commit("one")
	blob := r.Git("rev-parse", "HEAD:a")
	if err := os.Remove(filepath.Join(r.Dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	r.Git("config", "core.repositoryFormatVersion", "1")
	r.Git("config", "extensions.partialClone", "origin")
	r.MakeHostile()
	g := gittest.Git(t)
	repo := r.Open(g)
	if _, _, err := plain(t, repo).ReadObject(t.Context(), blob, 10); err == nil {
		t.Error("a missing object was read")
	}
	if _, err := repo.Run(t.Context(), gitx.Opts{Values: []string{blob + "^{blob}"}}, "rev-parse", "--verify"); err == nil {
		t.Log("rev-parse does not need the object")
	}
	if ran := r.Ran(); len(ran) > 0 {
		t.Fatalf("ran %s", ran)
	}
}
