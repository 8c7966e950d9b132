//go:build linux

package worktree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/discover"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
	"github.com/ambit-run/ambit/internal/sandbox/worktree"
)

// scene is a real repository and a state folder.
type scene struct {
	t     *testing.T
	repo  *gittest.Repo
	git   *gitx.Git
	strat engine.Strategy
	state string
}

func newScene(t *testing.T, files ...string) *scene {
	t.Helper()
	s := &scene{t: t, repo: gittest.New(t), git: gittest.Git(t), state: t.TempDir()}
	if len(files) > 0 {
		s.repo.Write(files...).Commit("base")
	}
	s.strat = worktree.New(worktree.Options{Git: s.git})
	return s
}

func (s *scene) request(plan, id string) engine.CreateRequest {
	s.t.Helper()
	dir := filepath.Join(s.state, "plans", plan, "sandboxes", id)
	must(s.t, os.MkdirAll(dir, 0o700))
	res, err := discover.New(s.git, "").Discover(s.t.Context(), s.repo.Dir)
	must(s.t, err)
	return engine.CreateRequest{
		Plan: plan, ID: id, Dir: dir, BasesDir: filepath.Join(s.state, "bases"), Resource: res,
		Lower: engine.LowerFrozen, Dirty: engine.DirtyCarry, Confined: true, Now: time.Unix(1_700_000_000, 0),
	}
}

func (s *scene) create(req engine.CreateRequest) engine.Sandbox {
	s.t.Helper()
	sb, err := s.strat.Create(s.t.Context(), req)
	must(s.t, err)
	return sb
}

func (s *scene) inside(sb engine.Sandbox, script string) string {
	s.t.Helper()
	en, err := sb.Enter(s.t.Context())
	must(s.t, err)
	out, err := conformance.Inside(en, script)
	must(s.t, err)
	return strings.TrimSpace(out)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		conformance.Check(t, err)
	}
}

func hasNotice(sb engine.Sandbox, parts ...string) bool {
	return slices.ContainsFunc(sb.Info().Notices, func(n string) bool {
		for _, p := range parts {
			if !strings.Contains(n, p) {
				return false
			}
		}
		return true
	})
}

// TestRegistered: the real repository lists a locked worktree on the plan's
// branch and pins the base; nothing else of it changes; afterwards nothing is left.
func TestRegistered(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1", "d/b", "2")
	before := s.repo.State()
	base := s.repo.Git("rev-parse", "HEAD")
	req := s.request("fix-1", "s1")
	sb := s.create(req)
	if got := sb.Info(); got.Base != base || got.ChainBase != base || got.Strategy != engine.StrategyGitWorktree {
		t.Fatalf("%+v", got)
	}
	list := s.repo.Git("worktree", "list", "--porcelain")
	for _, want := range []string{"worktree " + req.Dir + "/tree", "branch refs/heads/ambit/fix-1", "locked ambit plan fix-1"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is missing in\n%s", want, list)
		}
	}
	if got := s.repo.Git("for-each-ref", "--format=%(refname) %(objectname)"); got != fmt.Sprintf("refs/ambit/fix-1/s1 %s\nrefs/heads/ambit/fix-1 %s\nrefs/heads/main %s", base, base, base) {
		t.Error(got)
	}
	if got := s.repo.Git("status", "--porcelain"); got != "" {
		t.Errorf("status: %q", got)
	}
	if _, err := s.repo.Try("branch", "-D", "ambit/fix-1"); err == nil {
		t.Error("the branch of a live plan could be deleted")
	}
	if got := s.inside(sb, "git status --porcelain --branch; git worktree list | wc -l; cat d/b"); got != "## ambit/fix-1\n1\n2" {
		t.Errorf("inside: %q", got)
	}
	objects := count(t, filepath.Join(s.repo.Dir, ".git/objects"))
	s.inside(sb, "echo x > new; git add -A; git commit -q -m step; git tag t; git branch b; git config x.y z; git gc -q --prune=now; git fsck --no-dangling --strict")
	if now := count(t, filepath.Join(s.repo.Dir, ".git/objects")); now != objects {
		t.Errorf("the real repository has %d object files, had %d", now, objects)
	}
	must(t, sb.Destroy(t.Context(), true))
	if after := s.repo.State(); after != before {
		t.Errorf("%s\n--- want\n%s", after, before)
	}
	s.repo.Fsck()
}

func count(t *testing.T, dir string) (n int) {
	t.Helper()
	must(t, filepath.Walk(dir, func(string, os.FileInfo, error) error { n++; return nil }))
	return n
}

// TestC16_C17_SixteenAtOnce: parallel creations over one repository all succeed,
// and parallel removals leave nothing.
func TestC16_C17_SixteenAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1")
	before := s.repo.State()
	boxes := make([]engine.Sandbox, 16)
	errs := make([]error, 16)
	reqs := make([]engine.CreateRequest, 16)
	for i := range reqs {
		reqs[i] = s.request(fmt.Sprintf("p-%02d", i), "s1")
	}
	var wg sync.WaitGroup
	for i := range boxes {
		wg.Go(func() { boxes[i], errs[i] = s.strat.Create(t.Context(), reqs[i]) })
	}
	wg.Wait()
	must(t, errs...)
	if got := strings.Count(s.repo.Git("worktree", "list"), "\n"); got != 16 {
		t.Fatalf("%d worktrees", got)
	}
	for i := range boxes {
		wg.Go(func() { errs[i] = boxes[i].Destroy(t.Context(), false) })
	}
	wg.Wait()
	must(t, errs...)
	if after := s.repo.State(); after != before {
		t.Errorf("%s\n--- want\n%s", after, before)
	}
}

// TestC13_C14_TakenName: a branch of that name is somebody else's, and stays.
func TestC13_C14_TakenName(t *testing.T) {
	t.Parallel()
	for _, branch := range []string{"ambit/fix-1", "ambit"} {
		s := newScene(t, "a", "1")
		s.repo.Git("branch", branch)
		before := s.repo.State()
		req := s.request("fix-1", "s1")
		_, err := s.strat.Create(t.Context(), req)
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), branch) || fault.As(err).Hint == "" {
			t.Fatalf("%s: %v", branch, err)
		}
		if after := s.repo.State(); after != before {
			t.Errorf("%s\n--- want\n%s", after, before)
		}
	}
}

func TestTwoSandboxesOfOnePlanOverOneRepository(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1")
	before := s.repo.State()
	one, two := s.create(s.request("fix-1", "s1")), s.create(s.request("fix-1", "s2"))
	for _, sb := range []engine.Sandbox{one, two} {
		if got := s.inside(sb, "git symbolic-ref HEAD"); got != "refs/heads/ambit/fix-1" {
			t.Error(got)
		}
	}
	must(t, one.Destroy(t.Context(), false))
	if got := s.inside(two, "git log --format=%s"); got != "base" {
		t.Error(got)
	}
	must(t, two.Destroy(t.Context(), false))
	if after := s.repo.State(); after != before {
		t.Errorf("%s\n--- want\n%s", after, before)
	}
}

// TestC2_MovedBranchStays: what somebody committed on the plan's branch outside
// is not deleted with the sandbox.
func TestC2_MovedBranchStays(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1")
	sb := s.create(s.request("fix-1", "s1"))
	mine := s.repo.Write("a", "2").Commit("mine")
	s.repo.Git("update-ref", "refs/heads/ambit/fix-1", mine)
	s.repo.Git("reset", "-q", "--hard", "HEAD~1")
	must(t, sb.Destroy(t.Context(), false))
	if got := s.repo.Git("for-each-ref", "--format=%(refname)"); got != "refs/heads/ambit/fix-1\nrefs/heads/main" {
		t.Error(got)
	}
	if got := s.repo.Git("rev-parse", "ambit/fix-1"); got != mine {
		t.Error("the branch was moved")
	}
}

// TestC8_HalfStates: registered without a folder, a folder without registration,
// references without a worktree: all are taken up again or taken back.
func TestC8_HalfStates(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *scene, req engine.CreateRequest){
		"folder gone":        func(s *scene, req engine.CreateRequest) { must(s.t, os.RemoveAll(req.Dir+"/tree")) },
		"registration gone":  func(s *scene, _ engine.CreateRequest) { must(s.t, os.RemoveAll(s.repo.Dir+"/.git/worktrees")) },
		"admin folder empty": func(s *scene, _ engine.CreateRequest) { must(s.t, os.Remove(s.repo.Dir+"/.git/worktrees/tree/HEAD")) },
		"pin gone":           func(s *scene, _ engine.CreateRequest) { s.repo.Git("update-ref", "-d", "refs/ambit/fix-1/s1") },
		"branch gone":        func(s *scene, _ engine.CreateRequest) { s.repo.Git("update-ref", "-d", "refs/heads/ambit/fix-1") },
		"unlocked":           func(s *scene, req engine.CreateRequest) { s.repo.Git("worktree", "unlock", req.Dir+"/tree") },
		"state file gone":    func(s *scene, req engine.CreateRequest) { must(s.t, os.Remove(req.Dir+"/sandbox.json")) },
		"only the folder": func(s *scene, req engine.CreateRequest) {
			must(s.t, os.Remove(req.Dir+"/sandbox.json"), os.RemoveAll(s.repo.Dir+"/.git/worktrees"))
			s.repo.Git("update-ref", "-d", "refs/ambit/fix-1/s1")
			s.repo.Git("update-ref", "-d", "refs/heads/ambit/fix-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "a", "1")
			s.t = t
			before := s.repo.State()
			req := s.request("fix-1", "s1")
			sb := s.create(req)
			spoil(s, req)
			if _, err := os.Stat(req.Dir + "/sandbox.json"); err != nil {
				sb = s.create(req) // as the engine does for a sandbox that was never finished
				if got := s.inside(sb, "git status --porcelain; cat a"); got != "1" {
					t.Errorf("made again: %q", got)
				}
			}
			for range 2 {
				must(t, sb.Destroy(t.Context(), true))
			}
			if name == "pin gone" { // then the branch may be anybody's
				s.repo.Git("branch", "-D", "ambit/fix-1")
			}
			must(t, removeEmpty(filepath.Join(s.repo.Dir, ".git/worktrees")))
			if after := s.repo.State(); after != before {
				t.Errorf("%s\n--- want\n%s", after, before)
			}
			if left, err := os.ReadDir(req.Dir); err != nil || len(left) > 0 {
				t.Errorf("left: %v %v", left, err)
			}
		})
	}
}

func removeEmpty(dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// TestC6_C22_OnlyItsOwn: removing one sandbox touches no other worktree, not even
// a stale one that git would prune.
func TestC6_C22_OnlyItsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1")
	base := t.TempDir()
	s.repo.Git("worktree", "add", "-q", filepath.Join(base, "mine"))
	s.repo.Git("worktree", "add", "-q", filepath.Join(base, "moved"))
	must(t, os.Rename(filepath.Join(base, "moved"), filepath.Join(base, "elsewhere")))
	before := s.repo.Git("worktree", "list")
	sb := s.create(s.request("fix-1", "s1"))
	must(t, sb.Destroy(t.Context(), false))
	if after := s.repo.Git("worktree", "list"); after != before {
		t.Errorf("%s\n--- want\n%s", after, before)
	}
	s.repo.Git("worktree", "repair", filepath.Join(base, "elsewhere")) // fails when it was pruned
}

// TestC4_NoHarsherFallback: when git refuses to remove the worktree, that is an
// error, the sandbox can be removed later, and nothing else was tried.
func TestC4_NoHarsherFallback(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1")
	before := s.repo.State()
	sb := s.create(s.request("fix-1", "s1"))
	lock := filepath.Join(s.repo.Dir, ".git/refs/heads/ambit/fix-1.lock")
	must(t, os.WriteFile(lock, nil, 0o644))
	short := worktree.New(worktree.Options{Git: s.git})
	sb, err := short.Attach(t.Context(), record(s.request("fix-1", "s1"), sb))
	must(t, err)
	ctx := t.Context()
	if err := sb.Destroy(ctx, false); err == nil || !strings.Contains(err.Error(), "fix-1.lock") {
		t.Fatalf("got %v", err)
	}
	if got := s.repo.Git("rev-parse", "ambit/fix-1"); got == "" {
		t.Error("the branch is gone")
	}
	must(t, os.Remove(lock), sb.Destroy(ctx, false))
	if after := s.repo.State(); after != before {
		t.Errorf("%s\n--- want\n%s", after, before)
	}
}

func record(req engine.CreateRequest, sb engine.Sandbox) engine.SandboxRecord {
	r := sb.Info()
	r.ID, r.Plan, r.Resource, r.Dir, r.BasesDir = req.ID, req.Plan, req.Resource, req.Dir, req.BasesDir
	return r
}

// TestBaseIsPinned: the person rewrites history and collects garbage; the
// sandbox still has its base.
func TestBaseIsPinned(t *testing.T) {
	t.Parallel()
	for _, confined := range []bool{true, false} {
		s := newScene(t, "a", "1")
		s.repo.Write("a", "2").Commit("doomed")
		req := s.request("fix-1", "s1")
		req.Confined = confined
		sb := s.create(req)
		s.repo.Git("reset", "-q", "--hard", "HEAD~1")
		s.repo.Git("reflog", "expire", "--expire=now", "--all")
		s.repo.Git("gc", "-q", "--prune=now")
		if got := s.inside(sb, "git fsck --no-dangling; git log --format=%s; git checkout -q -- a; cat a"); got != "doomed\nbase\n2" {
			t.Errorf("confined=%v: %q", confined, got)
		}
		must(t, sb.Destroy(t.Context(), false))
	}
}

// TestC21_WhatCannotBeCheckedOut: a file that this file system cannot hold is an
// error, not a sandbox in which it looks deleted; nothing is left behind.
func TestC21_WhatCannotBeCheckedOut(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1")
	blob := s.repo.Git("rev-parse", "HEAD:a")
	tree := gittest.MakeTree(t, s.repo, "100644 blob "+blob+"\t"+strings.Repeat("x", 300)+"\n100644 blob "+blob+"\ta\n")
	s.repo.Git("update-ref", "HEAD", s.repo.Git("commit-tree", "-m", "long", "-p", "HEAD", tree))
	before := s.repo.Git("for-each-ref") + s.repo.Git("worktree", "list")
	req := s.request("fix-1", "s1")
	req.Dirty = engine.DirtyHide
	if _, err := s.strat.Create(t.Context(), req); err == nil || !strings.Contains(err.Error(), "checkout-index") {
		t.Errorf("got %v", err)
	}
	if after := s.repo.Git("for-each-ref") + s.repo.Git("worktree", "list"); after != before {
		t.Errorf("%s\n--- want\n%s", after, before)
	}
}

// TestC24_C25_C26_Leftovers: what a checkout does not fill is named.
func TestC24_C25_C26_Leftovers(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1", ".gitattributes", "*.bin filter=lfs\n", "x.bin", "version https://git-lfs.github.com/spec/v1\n")
	s.repo.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", s.repo.Dir, "lib/sub")
	s.repo.Commit("sub")
	s.repo.Git("config", "filter.lfs.smudge", "no-such-program %f")
	s.repo.Git("config", "filter.lfs.required", "true")
	sb := s.create(s.request("fix-1", "s1"))
	if !hasNotice(sb, "submodules are empty", "lib/sub") || !hasNotice(sb, `filter "lfs"`, "x.bin") {
		t.Errorf("notices: %q", sb.Info().Notices)
	}
	set, _, err := sb.Changes(t.Context(), engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
	if err != nil || len(set.Changes) > 0 { // pointers are not edits
		t.Errorf("%+v %v", set, err)
	}
	must(t, sb.Destroy(t.Context(), false))
}

func TestC32_C33_C34_C36_C37_C38_IgnoredFiles(t *testing.T) {
	t.Parallel()
	s := newScene(t, ".gitignore", ".env*\nnode_modules/\n*.secret\n", "a", "1")
	s.repo.Write(".env", "KEY=1", ".env.local", "K=2", "node_modules/x/index.js", "js", "node_modules/y/.env", "deep", "k.secret", "s", "sub/.env", "E", "not-ignored", "u")
	must(t, os.Symlink("/etc/passwd", filepath.Join(s.repo.Dir, "node_modules/link")))
	req := s.request("fix-1", "s1")
	req.Include = []string{".env", "/node_modules/link"}
	sb := s.create(req)
	if got := s.inside(sb, "cat .env sub/.env node_modules/y/.env; readlink node_modules/link; ls .env.local k.secret node_modules/x 2>/dev/null || true"); got != "KEY=1Edeep/etc/passwd" {
		t.Errorf("%q", got)
	}
	if !hasNotice(sb, "ignored paths stay behind", ".env.local", "k.secret") || !hasNotice(sb, "brought along though ignored", "sub/.env") {
		t.Errorf("notices: %q", sb.Info().Notices)
	}
	// A link is not matched by "node_modules/", yet git inside does not see it (C36).
	if got := s.inside(sb, "git add -A; git status --porcelain; git ls-files"); got != ".gitignore\na\nnot-ignored" {
		t.Errorf("%q", got)
	}
	must(t, sb.Destroy(t.Context(), false))
	for _, bad := range []string{"../outside", "a/../../b", ""} {
		req := s.request("bad-1", "s1")
		req.Include = []string{bad}
		if _, err := s.strat.Create(t.Context(), req); !fault.Is(err, fault.Invalid) {
			t.Errorf("include %q: %v", bad, err)
		}
	}
	if got := s.repo.Git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" { // C16
		t.Errorf("failed creations left %q", got)
	}
	s.repo.Write(".worktreeinclude", "*.secret\n")
	sb = s.create(s.request("fix-2", "s1"))
	if got := s.inside(sb, "cat k.secret; ls .env 2>/dev/null || true"); got != "s" {
		t.Errorf(".worktreeinclude: %q", got)
	}
	must(t, sb.Destroy(t.Context(), true))
}

func TestDirtyModes(t *testing.T) {
	t.Parallel()
	s := newScene(t, "keep", "k", "mod", "m", "gone", "g", "d/only", "o", "exec", "x")
	base := s.repo.Git("rev-parse", "HEAD")
	s.repo.Write("mod", "M", "staged", "S", "new/deep/file", "n", "d2", "now a file")
	s.repo.Git("add", "staged")
	must(t, os.Remove(filepath.Join(s.repo.Dir, "gone")), os.RemoveAll(filepath.Join(s.repo.Dir, "d")), os.Chmod(filepath.Join(s.repo.Dir, "exec"), 0o755))
	s.repo.Write("d", "a file where a directory was")
	before := s.repo.State()

	req := s.request("carry-1", "s1")
	sb := s.create(req)
	info := sb.Info()
	if info.Base != base || info.ChainBase == base || info.ChainBase == "" {
		t.Errorf("%+v", info)
	}
	if got := s.inside(sb, "git status --porcelain; git log --format=%s; cat mod staged new/deep/file d; ls gone 2>/dev/null || true; test -x exec && echo yes"); got != "Uncommitted work at the start of plan carry-1\nbase\nMSna file where a directory wasyes" {
		t.Errorf("%q", got)
	}
	set, _, err := sb.Changes(t.Context(), engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
	if err != nil || len(set.Changes) > 0 {
		t.Errorf("carried work counts as the plan's: %+v %v", set, err)
	}
	must(t, sb.Destroy(t.Context(), false)) // the carry commit is nobody's loss

	req = s.request("hide-1", "s1")
	req.Dirty = engine.DirtyHide
	sb = s.create(req)
	if got := s.inside(sb, "git status --porcelain; git log --format=%s; cat mod gone d/only"); got != "base\nmgo" {
		t.Errorf("%q", got)
	}
	must(t, sb.Destroy(t.Context(), false))

	req = s.request("refuse-1", "s1")
	req.Dirty = engine.DirtyRefuse
	if _, err := s.strat.Create(t.Context(), req); !fault.Is(err, fault.Conflict) || !slices.Contains(fault.As(err).Paths, "mod") {
		t.Errorf("refuse: %v %v", err, fault.As(err).Paths)
	}
	if after := s.repo.State(); after != before {
		t.Errorf("%s\n--- want\n%s", after, before)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p, err := s.strat.Probe(t.Context(), s.request("p", "s1"))
	if err != nil || p.OK || !strings.Contains(p.Reason, "no commit yet") {
		t.Errorf("%+v %v", p, err)
	}
	s.repo.Write("a", "1").Commit("one")
	if p, err = s.strat.Probe(t.Context(), s.request("p", "s1")); err != nil || !p.OK {
		t.Errorf("%+v %v", p, err)
	}
	req := s.request("p", "s1")
	req.Resource.Git, req.Resource.Type = nil, engine.TypeFSDirectory
	if p, err = s.strat.Probe(t.Context(), req); err != nil || p.OK {
		t.Errorf("%+v %v", p, err)
	}
	if p, err = worktree.New(worktree.Options{}).Probe(t.Context(), s.request("p", "s1")); err != nil || p.OK || !strings.Contains(p.Reason, "install git") {
		t.Errorf("%+v %v", p, err)
	}
}

// TestO42_DetachedHead: said at creation.
func TestO42_DetachedHead(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1")
	s.repo.Git("checkout", "-q", "--detach")
	sb := s.create(s.request("fix-1", "s1"))
	if !hasNotice(sb, "HEAD is detached") {
		t.Errorf("%q", sb.Info().Notices)
	}
	must(t, sb.Destroy(t.Context(), false))
}

// TestV28_V29_V30_V32_NothingRunsOnTheHost: neither making, nor looking at, nor
// restoring, nor removing a sandbox runs a program of the repository's or of the
// sandbox's configuration.
func TestV28_V29_V30_V32_NothingRunsOnTheHost(t *testing.T) {
	t.Parallel()
	for _, confined := range []bool{true, false} {
		s := newScene(t, "a", "1", "b.proc", "2", ".gitattributes", gittest.HostileAttributes)
		s.repo.MakeHostile()
		s.repo.Write("a", "dirty", "untracked", "u")
		s.repo.ForgetMarkers()
		req := s.request("fix-1", "s1")
		req.Confined, req.Include = confined, []string{"*.x"}
		check := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("confined=%v: %s: %v", confined, what, err)
			}
			if ran := s.repo.Ran(); len(ran) > 0 {
				t.Fatalf("confined=%v: %s ran %s", confined, what, ran)
			}
		}
		sb, err := s.strat.Create(t.Context(), req)
		check("create", err)
		ctx := t.Context()
		// What a step writes into its own configuration must not run either.
		must(t, os.WriteFile(filepath.Join(req.Dir, "tree/.git/config"), []byte("[core]\n\trepositoryformatversion = 0\n"+s.repo.HostileConfig()), 0o644),
			os.WriteFile(filepath.Join(req.Dir, "tree/a"), []byte("step"), 0o644),
			os.WriteFile(filepath.Join(req.Dir, "tree/.gitattributes"), []byte(gittest.HostileAttributes), 0o644))
		check("checkpoint", sb.Checkpoint(ctx, "one"))
		_, src, err := sb.Changes(ctx, engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
		check("changes", err)
		_ = src
		check("restore", sb.Restore(ctx, "one"))
		check("rollback", sb.Rollback(ctx))
		check("destroy", sb.Destroy(ctx, false))
	}
}

// TestRollbackAfterThePersonMovedOn: contents of the creation that no checkpoint
// stored and that changed in the real tree are made from the base again.
func TestRollbackAfterThePersonMovedOn(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "one\n", "crlf.txt", "l\n", ".gitattributes", "*.txt text eol=crlf\n")
	sb := s.create(s.request("fix-1", "s1"))
	s.inside(sb, "echo two > a; rm crlf.txt")
	s.repo.Write("a", "mine\n", "crlf.txt", "mine\n").Commit("mine")
	set, src, err := sb.Changes(t.Context(), engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
	if err != nil || len(set.Changes) != 2 {
		t.Fatalf("%+v %v", set, err)
	}
	r, err := src.Open(0, "a")
	must(t, err)
	buf := make([]byte, 10)
	if n, _ := r.Read(buf); string(buf[:n]) != "one\n" {
		t.Errorf("before: %q", buf[:n])
	}
	must(t, r.Close(), sb.Rollback(t.Context()))
	if got := s.inside(sb, "git status --porcelain; cat a crlf.txt | od -c | head -2"); !strings.Contains(got, "o   n   e  \\n   l  \\r  \\n") {
		t.Errorf("%q", got)
	}
	must(t, sb.Destroy(t.Context(), false))
}

func TestSHA256Repository(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "1")
	s.repo = gittest.New(t, "--object-format=sha256")
	s.repo.Write("a", "1").Commit("base")
	s.repo.Write("a", "dirty")
	sb := s.create(s.request("fix-1", "s1"))
	if got := s.inside(sb, "git status --porcelain --branch; git fsck --strict; echo 2 > b; git add b; git commit -q -m two; git log --format=%s"); got != "## ambit/fix-1\ntwo\nUncommitted work at the start of plan fix-1\nbase" {
		t.Errorf("%q", got)
	}
	if err := sb.Destroy(t.Context(), false); !fault.Is(err, fault.Conflict) { // C1, C2, C5
		t.Errorf("a commit of its own was thrown away: %v", err)
	}
	must(t, sb.Destroy(t.Context(), true))
	s.repo.Fsck()
}
