package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

// edit changes a sandbox in every way git records.
func (s *scene) edit() {
	s.t.Helper()
	b := s.box
	b.Write("mod", "changed\n", "new/deep/file", "n", "odd name\xff\n", "x", "dir-to-file", "")
	mustDo(s.t,
		os.Remove(filepath.Join(b.Dir, "gone/a")),
		os.Remove(filepath.Join(b.Dir, "gone/b")),
		os.Remove(filepath.Join(b.Dir, "gone")),
		os.Chmod(filepath.Join(b.Dir, "run"), 0o755),
		os.Remove(filepath.Join(b.Dir, "to-link")),
		os.Symlink("mod", filepath.Join(b.Dir, "to-link")),
		os.Remove(filepath.Join(b.Dir, "link")),
		os.Symlink("elsewhere", filepath.Join(b.Dir, "link")),
	)
}

func rich(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, "mod", "m\n", "keep", "k", "gone/a", "a", "gone/b", "b", "run", "#!/bin/sh\n", "to-link", "t", "d2f/x", "x", "f2d", "f", ".gitignore", "*.log\n")
	mustDo(t, os.Symlink("keep", filepath.Join(s.real.Dir, "link")))
	s.base = s.real.Commit("link")
	mustDo(t, os.RemoveAll(s.box.Dir))
	s.sandbox()
	return s
}

func TestFastForwardAndUndo(t *testing.T) {
	t.Parallel()
	s := rich(t)
	s.edit()
	mustDo(t, // file and directory take each other's place
		os.RemoveAll(filepath.Join(s.box.Dir, "d2f")), os.WriteFile(filepath.Join(s.box.Dir, "d2f"), []byte("now a file"), 0o644),
		os.Remove(filepath.Join(s.box.Dir, "f2d")), os.Mkdir(filepath.Join(s.box.Dir, "f2d"), 0o755), os.WriteFile(filepath.Join(s.box.Dir, "f2d/y"), []byte("y"), 0o644))
	one := s.box.Commit("Step one\n\nAmbit-Plan: p-1\nAmbit-Step: n01")
	two := s.box.Write("more", "m").Commit("Step two\n\nAmbit-Plan: p-1\nAmbit-Step: n02")
	s.real.Write("mine.log", "ignored", "untracked", "u")
	before, tree := s.real.State(), list(t, s.real.Dir)
	state := s.apply(engine.ToCommit, s.request(true))
	if head := s.real.Git("rev-parse", "HEAD", "HEAD~1"); head != two+"\n"+one {
		t.Fatalf("HEAD %s, want the sandbox's own commits", head)
	}
	if out := s.real.Git("status", "--porcelain"); out != "?? untracked" {
		t.Fatalf("status: %q", out)
	}
	mustDo(t, os.Remove(filepath.Join(s.real.Dir, "mine.log")), os.Remove(filepath.Join(s.real.Dir, "untracked")))
	s.equalTrees()
	s.real.Write("mine.log", "ignored", "untracked", "u")
	s.undo(engine.ToCommit, state)
	if after := s.real.State(); after != before {
		t.Fatalf("undo left another state:\n%s\n--- want\n%s", after, before)
	}
	if after := list(t, s.real.Dir); after != tree {
		t.Fatalf("undo left other files:\n%s\n--- want\n%s", after, tree)
	}
}

// TestC125_DirtyElsewhereStays: only touched paths must be clean, and nothing is stashed.
func TestC125_DirtyElsewhereStays(t *testing.T) {
	t.Parallel()
	s := rich(t)
	s.box.Write("mod", "plan\n").Commit("plan")
	s.real.Write("keep", "my edit", "gone/a", "staged", "notes.txt", "mine")
	s.real.Git("add", "gone/a")
	before := s.real.State()
	state := s.apply(engine.ToCommit, s.request(true))
	if out := s.real.Git("status", "--porcelain"); out != "M  gone/a\n M keep\n?? notes.txt" {
		t.Fatalf("%q", out)
	}
	if s.real.Read("mod") != "plan\n" || s.real.Read("keep") != "my edit" || s.real.Read("gone/a") != "staged" {
		t.Fatal("files are wrong")
	}
	s.undo(engine.ToCommit, state)
	if after := s.real.State(); after != before {
		t.Fatalf("%s\n--- want\n%s", after, before)
	}
	if s.real.Git("stash", "list") != "" {
		t.Fatal("something was stashed")
	}
}

func TestC125_DirtyTouchedPathsAreListed(t *testing.T) {
	t.Parallel()
	s := rich(t)
	s.edit()
	s.box.Commit("plan")
	s.real.Write("mod", "my edit", "new/deep/file", "in the way")
	s.real.Write("run", "staged")
	s.real.Git("add", "run")
	s.wantConflict(engine.ToCommit, s.request(true), "1 with staged changes, 1 with uncommitted changes, 1 where an untracked file is in the way", "mod", "new/deep/file", "run")
}

// TestDirtyButEqual: what is already as the plan wants it is no conflict.
func TestDirtyButEqual(t *testing.T) {
	t.Parallel()
	s := rich(t)
	s.box.Write("mod", "plan\n", "extra", "e").Commit("plan")
	s.real.Write("mod", "plan\n", "extra", "e")
	before := s.real.State()
	state := s.apply(engine.ToCommit, s.request(true))
	s.clean()
	s.undo(engine.ToCommit, state)
	if after := s.real.State(); after != before {
		t.Fatalf("%s\n--- want\n%s", after, before)
	}
}

func TestReplayOntoMovedBranch(t *testing.T) {
	t.Parallel()
	s := newScene(t, "f", ten, "g", "g\n")
	s.box.Write("f", strings.Replace(ten, "2", "two", 1))
	s.box.Git("commit", "-q", "-a", "--author=Agent <a@x>", "--date=2025-01-01T00:00:00Z", "-m", "Step one\n\nAmbit-Plan: p-1\nAmbit-Step: n01")
	s.box.Write("new", "n").Commit("Step two\n\nAmbit-Step: n02")
	mine := s.real.Write("f", strings.Replace(ten, "9", "nine", 1), "h", "h").Commit("mine")
	before := s.real.State()
	state := s.apply(engine.ToCommit, s.request(true))
	if got := s.real.Git("log", "--format=%an|%ad|%cn|%s", "--date=short", mine+".."); got != "Step|2026-01-02|Ann|Step two\nAgent|2025-01-01|Ann|Step one" {
		t.Fatal(got)
	}
	if got := s.real.Git("log", "-1", "--format=%(trailers:key=Ambit-Step,valueonly)", "HEAD~1"); strings.TrimSpace(got) != "n01" {
		t.Fatalf("trailers: %q", got)
	}
	if want := strings.Replace(strings.Replace(ten, "2", "two", 1), "9", "nine", 1); s.real.Read("f") != want || s.real.Read("h") != "h" || s.real.Read("new") != "n" {
		t.Fatalf("%q", s.real.Read("f"))
	}
	s.clean()
	s.undo(engine.ToCommit, state)
	if after := s.real.State(); after != before {
		t.Fatalf("%s\n--- want\n%s", after, before)
	}
}

// TestO41_ConflictsAreListed: every path, not only those of the first commit.
func TestO41_ConflictsAreListed(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a\n", "b", "b\n", "c", "c\n")
	s.box.Write("a", "plan\n").Commit("one")
	s.box.Write("b", "plan\n", "c", "plan\n").Commit("two")
	s.real.Write("a", "mine\n", "c", "mine\n").Commit("mine")
	s.wantConflict(engine.ToCommit, s.request(true), "2 of the plan's paths changed on both sides", "a", "c")
	req := s.request(true)
	req.Squash = true
	s.wantConflict(engine.ToCommit, req, "changed on both sides", "a", "c")
}

// TestConflictsOfEveryKindAreListed: what the branch, the carried work and the
// checkout have against a plan is said at once.
func TestConflictsOfEveryKindAreListed(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a\n", "b", "b\n", "c", "c\n", "d", "d\n", "e", "e\n")
	s.real.Write("d", "carried\n")
	s.carry()
	s.box.Write("a", "plan\n", "b", "plan\n", "c", "plan\n", "d", "plan\n", "e", "plan\n", "new", "plan\n").Commit("plan")
	s.real.Write("a", "mine\n")
	s.real.Git("commit", "-q", "-m", "mine", "a")
	s.real.Write("b", "my edit\n", "c", "staged\n", "new", "in the way\n")
	s.real.Git("add", "c")
	want := "the branch moved on and 1 of the plan's paths changed on both sides; at 1 paths the plan builds on your uncommitted work; " +
		"besides, the checkout has your own work at paths of the plan: 1 with staged changes, 1 with uncommitted changes, 1 where an untracked file is in the way"
	s.wantConflict(engine.ToCommit, s.request(true), want, "a", "b", "c", "d", "new")
	req := s.request(true)
	req.Squash = true
	s.wantConflict(engine.ToCommit, req, want, "a", "b", "c", "d", "new")
	// The same without the plan's commits.
	req = s.request(false)
	req.Merge = true
	s.wantConflict(engine.ToCommit, req, "besides, the checkout has your own work", "a", "b", "c", "d", "new")
}

// TestRebaseUnderWay: a rebase detaches HEAD; to switch would be the wrong advice.
func TestRebaseUnderWay(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a\n", "b", "b")
	s.box.Write("b", "plan").Commit("plan")
	s.real.Git("checkout", "-q", "-b", "x")
	s.real.Write("a", "x\n").Commit("x")
	s.real.Git("checkout", "-q", "main")
	s.real.Write("a", "y\n").Commit("y")
	if _, err := s.real.Try("rebase", "x"); err == nil {
		t.Fatal("no conflict")
	}
	s.wantConflict(engine.ToCommit, s.request(true), "a rebase is under way")
	_, err := s.target(engine.ToCommit).Prepare(t.Context(), s.request(true))
	if hint := fault.As(err).Hint; strings.Contains(hint, "switch") || !strings.Contains(hint, "git rebase --continue") {
		t.Fatalf("hint: %q", hint)
	}
}

func TestSquashThatMergesWhereTheChainDoesNot(t *testing.T) {
	t.Parallel()
	s := newScene(t, "f", ten)
	s.box.Write("f", strings.Replace(ten, "2", "two", 1)).Commit("one\n\nAmbit-Step: n01")
	s.box.Write("f", ten, "new", "n").Commit("two\n\nAmbit-Step: n02")
	s.real.Write("f", strings.Replace(ten, "2", "zwei", 1)).Commit("mine")
	req := s.request(true)
	s.wantConflict(engine.ToCommit, req, "though not in the end", "f")
	req.Squash = true
	s.apply(engine.ToCommit, req)
	if got := s.real.Git("log", "-1", "--format=%an <%ae>|%B"); got != "Ann <ann@example.com>|The plan\n\nAmbit-Plan: p-1\nAmbit-Step: n01\nAmbit-Step: n02" {
		t.Fatalf("%q", got)
	}
	if s.real.Git("rev-list", "--count", "HEAD") != "3" {
		t.Fatal("not one commit")
	}
	s.clean()
}

// TestCarryIsNeverPublished: the person's uncommitted work went along into the
// sandbox; only the plan's own changes come back.
func TestCarryIsNeverPublished(t *testing.T) {
	t.Parallel()
	s := newScene(t, "mine", ten, "theirs", "t\n")
	s.real.Write("mine", strings.Replace(ten, "1\n", "one\n", 1), "scratch", "s")
	s.carry()
	s.box.Write("theirs", "plan\n", "new", "n").Commit("plan")
	before := s.real.State()
	state := s.apply(engine.ToCommit, s.request(true))
	if got := s.real.Git("log", "--format=%s"); got != "plan\nbase" {
		t.Fatalf("history: %q", got)
	}
	if got := s.real.Git("show", "--name-only", "--format=", "HEAD"); got != "new\ntheirs" {
		t.Fatalf("published: %q", got)
	}
	if got := s.real.Git("status", "--porcelain"); got != "M mine\n?? scratch" {
		t.Fatalf("status: %q", got)
	}
	s.undo(engine.ToCommit, state)
	if after := s.real.State(); after != before {
		t.Fatalf("%s\n--- want\n%s", after, before)
	}
	// A carried path that the plan touched is a conflict for commits.
	s.box.Write("mine", strings.Replace(s.box.Read("mine"), "9", "nine", 1), "scratch", "changed").Commit("touches")
	s.dir = t.TempDir()
	s.wantConflict(engine.ToCommit, s.request(true), "at 1 paths the plan builds on your uncommitted work", "mine", "scratch")
	s.box.Write("scratch", "s").Commit("back")
	s.wantConflict(engine.ToCommit, s.request(true), "though not in the end", "mine", "scratch")
	req := s.request(true)
	req.Squash = true
	s.wantConflict(engine.ToCommit, req, "1 with uncommitted changes", "mine")
}

func TestC42_O42_DetachedHead(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.box.Write("a", "b").Commit("plan")
	s.real.Git("checkout", "-q", "--detach")
	s.wantConflict(engine.ToCommit, s.request(true), "detached")
}

func TestC20_OtherBranchCheckedOut(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.box.Write("a", "b").Commit("plan")
	s.real.Git("checkout", "-q", "-b", "other")
	s.wantConflict(engine.ToCommit, s.request(true), "made on main, but other is checked out")
}

func TestBranchCheckedOutElsewhere(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.box.Write("a", "b").Commit("plan")
	wt := filepath.Join(t.TempDir(), "wt")
	s.real.Git("worktree", "add", "-q", "-f", wt, "main")
	s.wantConflict(engine.ToCommit, s.request(true), "checked out in "+wt)
}

func TestUnfinishedMerge(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a\n", "b", "b")
	s.box.Write("b", "plan").Commit("plan")
	s.real.Git("checkout", "-q", "-b", "x")
	s.real.Write("a", "x\n").Commit("x")
	s.real.Git("checkout", "-q", "main")
	s.real.Write("a", "y\n").Commit("y")
	if _, err := s.real.Try("merge", "x"); err == nil {
		t.Fatal("no conflict")
	}
	s.wantConflict(engine.ToCommit, s.request(true), "under way")
}

func TestUnbornBranch(t *testing.T) {
	t.Parallel()
	for _, history := range []bool{true, false} {
		s := newScene(t, "a", "a")
		s.real.Git("update-ref", "-d", "refs/heads/main")
		s.real.Git("rm", "-q", "--cached", "a")
		mustDo(t, os.Remove(filepath.Join(s.real.Dir, "a")))
		s.base, s.chain = "", ""
		s.box.Git("update-ref", "-d", "HEAD")
		s.was = t.TempDir()
		s.box.Write("a", "first", "b/c", "x").Commit("first")
		before := s.real.Git("for-each-ref") + s.real.Git("status", "--porcelain")
		state := s.apply(engine.ToCommit, s.request(history))
		s.clean()
		s.equalTrees()
		if s.real.Git("rev-list", "--count", "HEAD") != "1" {
			t.Fatal("want one commit")
		}
		s.undo(engine.ToCommit, state)
		if after := s.real.Git("for-each-ref") + s.real.Git("status", "--porcelain"); after != before {
			t.Fatalf("%q, want %q", after, before)
		}
	}
}

func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a", "b", "b")
	wt := filepath.Join(t.TempDir(), "wt")
	s.real.Git("worktree", "add", "-q", "-b", "side", wt)
	s.box.Write("a", "plan").Commit("plan")
	req := s.request(true)
	req.Resource.Path = wt
	req.Resource.Git = &engine.GitInfo{GitDir: filepath.Join(s.real.Dir, ".git/worktrees/wt"), CommonDir: filepath.Join(s.real.Dir, ".git"), Head: s.base, Branch: "refs/heads/side"}
	linked := s.real.At(wt)
	before := linked.State()
	tg := s.target(engine.ToCommit)
	state, err := tg.Prepare(t.Context(), req)
	mustDo(t, err, tg.Commit(t.Context(), state), tg.Verify(t.Context(), state))
	if linked.Read("a") != "plan" || linked.Git("status", "--porcelain") != "" || s.real.Read("a") != "a" {
		t.Fatal("wrong checkout followed")
	}
	mustDo(t, tg.Undo(t.Context(), state))
	if after := linked.State(); after != before {
		t.Fatalf("%s\n--- want\n%s", after, before)
	}
}

// TestIndexLockOfAnother: a lock that somebody holds, or that a dead command
// left, is named and never removed.
func TestIndexLockOfAnother(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.box.Write("a", "plan").Commit("plan")
	state := s.prepare(engine.ToCommit, s.request(true))
	lock := filepath.Join(s.real.Dir, ".git/index.lock")
	mustDo(t, os.WriteFile(lock, nil, 0o644))
	err := s.target(engine.ToCommit).Commit(t.Context(), state)
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "index.lock") || !strings.Contains(fault.As(err).Hint, "by hand") {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Fatal("the lock was removed")
	}
	if s.real.Read("a") != "a" || s.real.Git("rev-parse", "HEAD") != s.base {
		t.Fatal("something was done in spite of the lock")
	}
	mustDo(t, os.Remove(lock), s.target(engine.ToCommit).Commit(t.Context(), state))
	s.clean()
}

func TestCommitAfterTheWorldMoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		move func(s *scene)
		code fault.Code
		path string
	}{
		"ref":    {func(s *scene) { s.real.Write("z", "z").Commit("later") }, fault.IdentityChanged, "refs/heads/main"},
		"branch": {func(s *scene) { s.real.Git("checkout", "-q", "-b", "x") }, fault.IdentityChanged, "refs/heads/main"},
		"file":   {func(s *scene) { s.real.Write("a", "late edit") }, fault.Conflict, "a"},
		"new":    {func(s *scene) { s.real.Write("n", "in the way") }, fault.Conflict, "n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "a", "a")
			s.box.Write("a", "plan", "n", "n").Commit("plan")
			state := s.prepare(engine.ToCommit, s.request(true))
			c.move(s)
			before := s.real.State() + list(t, s.real.Dir)
			err := s.target(engine.ToCommit).Commit(t.Context(), state)
			if !fault.Is(err, c.code) || strings.Join(fault.As(err).Paths, " ") != c.path {
				t.Fatalf("got %v %v", err, fault.As(err).Paths)
			}
			if after := s.real.State() + list(t, s.real.Dir); after != before {
				t.Fatalf("%s\n--- want\n%s", after, before)
			}
			mustDo(t, s.target(engine.ToCommit).Abandon(t.Context(), s.dir, state))
			s.noLeftovers()
		})
	}
}

func TestUndoConflicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		move  func(s *scene)
		path  string
		undo  bool // Undo itself refuses to do anything
		after func(t *testing.T, s *scene)
	}{
		"ref": {move: func(s *scene) { s.real.Write("z", "z").Commit("later") }, path: "refs/heads/main", undo: true},
		"file": {move: func(s *scene) { s.real.Write("a", "late edit") }, path: "a", after: func(t *testing.T, s *scene) {
			if s.real.Read("a") != "late edit" || s.real.Read("n") != "<none>" || s.real.Git("rev-parse", "HEAD") != s.base {
				t.Fatal("not everything else went back")
			}
			kept := false
			mustDo(t, filepath.Walk(s.dir, func(p string, info os.FileInfo, err error) error {
				if err == nil && info.Mode().IsRegular() {
					data, readErr := os.ReadFile(p)
					kept, err = kept || string(data) == "a", readErr
				}
				return err
			}))
			if !kept {
				t.Fatal("the version from before is not kept")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "a", "a")
			s.box.Write("a", "plan", "n", "n").Commit("plan")
			state := s.apply(engine.ToCommit, s.request(true))
			c.move(s)
			before := s.real.State() + list(t, s.real.Dir)
			err := s.target(engine.ToCommit).CheckUndo(t.Context(), state)
			if !fault.Is(err, fault.Conflict) || strings.Join(fault.As(err).Paths, " ") != c.path {
				t.Fatalf("check: %v %v", err, fault.As(err).Paths)
			}
			if after := s.real.State() + list(t, s.real.Dir); after != before {
				t.Fatal("checking changed something")
			}
			err = s.target(engine.ToCommit).Undo(t.Context(), state)
			if !fault.Is(err, fault.Conflict) || strings.Join(fault.As(err).Paths, " ") != c.path {
				t.Fatalf("undo: %v %v", err, fault.As(err).Paths)
			}
			if after := s.real.State() + list(t, s.real.Dir); c.undo && after != before {
				t.Fatal("a refused undo changed something")
			}
			if c.after != nil {
				c.after(t, s)
			}
			s.noLeftovers()
		})
	}
}

func TestNothingToDo(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.box.Write("a", "same").Commit("plan")
	s.real.Write("a", "same").Commit("mine")
	before := s.real.State()
	state := s.apply(engine.ToCommit, s.request(true))
	s.undo(engine.ToCommit, state)
	if s.real.State() != before {
		t.Fatal("an apply of nothing changed something")
	}
}

func TestAbandonWithoutState(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.box.Write("a", "plan").Commit("plan")
	s.prepare(engine.ToCommit, s.request(true))
	for range 2 {
		mustDo(t, s.target(engine.ToCommit).Abandon(t.Context(), s.dir, nil))
	}
	s.noLeftovers()
	if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
		t.Fatalf("%v %v", left, err)
	}
}

func TestToBranch(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a", "b", "b")
	s.real.Write("b", "carried")
	s.carry()
	s.box.Write("a", "plan").Commit("plan")
	s.real.Git("checkout", "-q", "--", "b")
	s.real.Write("a", "moved on").Commit("moved on")
	before := s.real.State()
	req := s.request(true)
	req.Branch = "fix/plan"
	state := s.apply(engine.ToBranch, req)
	if got := s.real.Git("log", "--format=%s", "fix/plan"); got != "plan\nbase" {
		t.Fatalf("%q", got)
	}
	if s.real.Read("a") != "moved on" {
		t.Fatal("the checkout followed")
	}
	again := s.request(true)
	again.Branch, again.Dir = "fix/plan", t.TempDir()
	if _, err := s.target(engine.ToBranch).Prepare(t.Context(), again); !fault.Is(err, fault.Exists) {
		t.Fatalf("publishing over a branch: %v", err)
	}
	for _, bad := range []string{"-x", "a..b", "HEAD", "refs/heads/x", ""} { // V24, V33
		again.Branch = bad
		if _, err := s.target(engine.ToBranch).Prepare(t.Context(), again); !fault.Is(err, fault.Invalid) {
			t.Fatalf("branch %q: %v", bad, err)
		}
	}
	// Somebody works on the branch: then it stays.
	wt := filepath.Join(t.TempDir(), "wt")
	s.real.Git("worktree", "add", "-q", wt, "fix/plan")
	if err := s.target(engine.ToBranch).CheckUndo(t.Context(), state); !fault.Is(err, fault.Conflict) {
		t.Fatalf("undo under a checkout: %v", err)
	}
	s.real.Git("worktree", "remove", wt)
	s.undo(engine.ToBranch, state)
	if after := s.real.State(); after != before {
		t.Fatalf("%s\n--- want\n%s", after, before)
	}
}

// TestToOwnBranch: a git_worktree sandbox holds the plan's branch at the base; it
// is published over, and let go of, so that the person can check it out.
func TestToOwnBranch(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	plan := filepath.Join(t.TempDir(), "p-1")
	s.dir = filepath.Join(plan, "apply/a1")
	mustDo(t, os.MkdirAll(s.dir, 0o700))
	wt := filepath.Join(plan, "sandboxes/s1/tree")
	s.real.Git("worktree", "add", "-q", "-b", "ambit/p-1", wt)
	tip := s.box.Write("a", "plan").Commit("plan")
	req := s.request(true)
	req.Branch = "ambit/p-1"
	state := s.apply(engine.ToBranch, req)
	if got := s.real.Git("rev-parse", "ambit/p-1"); got != tip {
		t.Fatalf("published %s, want %s", got, tip)
	}
	s.real.Git("checkout", "-q", "ambit/p-1")
	s.real.Git("checkout", "-q", "main")
	s.undo(engine.ToBranch, state)
	if got := s.real.Git("rev-parse", "ambit/p-1"); got != s.base {
		t.Fatalf("undone to %s, want %s", got, s.base)
	}
	// Somebody else's branch of that name is not.
	s.real.Git("update-ref", "refs/heads/ambit/p-1", s.real.Write("z", "z").Commit("other"))
	if _, err := s.target(engine.ToBranch).Prepare(t.Context(), req); !fault.Is(err, fault.Exists) {
		t.Fatalf("got %v", err)
	}
}
