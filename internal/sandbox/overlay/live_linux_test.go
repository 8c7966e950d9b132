package overlay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

func history(t *testing.T) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	r.Write("f", "one\n", "d/x", "x\n", ".gitignore", "*.log\n").Commit("one")
	r.Git("tag", "-a", "-m", "first", "v1")
	r.Git("branch", "topic")
	r.Write("f", "two\n").Commit("two")
	return r
}

// Whatever the person does to the repository meanwhile, the sandbox keeps the
// references, the index and the configuration of the moment it was made; and
// whatever a step does, the real repository keeps its own.
func TestLiveRepositoryIsFrozen(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Git("update-ref", "refs/remotes/origin/main", "HEAD")
	r.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	b := checkout(t, r, engine.LowerLive).create()
	show := "git for-each-ref; git symbolic-ref refs/remotes/origin/HEAD; git symbolic-ref HEAD; git ls-files -s; git config user.name; git rev-parse v1^{commit}"
	want := b.inside(show)
	for _, ref := range []string{"refs/heads/ambit/" + b.req.Plan, "refs/heads/topic", "refs/tags/v1", "refs/remotes/origin/HEAD"} {
		if !strings.Contains(want, ref) {
			t.Errorf("inside lacks %s:\n%s", ref, want)
		}
	}

	// The person goes on: three commits, deletions, packing, collecting garbage.
	r.Write("f", "three\n").Commit("three")
	r.Git("branch", "-D", "topic")
	r.Git("tag", "v2")
	r.Git("pack-refs", "--all")
	r.Git("config", "user.name", "Somebody Else")
	r.Write("f", "four\n").Commit("four")
	r.Git("gc", "-q", "--prune=now")
	state := r.State()
	if got := b.inside(show); got != want {
		t.Errorf("inside, before\n%s\nafter the person's work\n%s", want, got)
	}
	if got := b.inside("git fsck --no-dangling 2>&1; git status --porcelain"); got != " M f\n" {
		t.Errorf("status inside: %q (the live file shines through, nothing else)", got)
	}
	// A step goes on, too, as rudely as it can.
	b.inside(`git commit -qam step; git branch -f topic HEAD; git tag -f v1; git config core.editor evil; git stash -q 2>/dev/null || true
		git update-ref -d refs/remotes/origin/main; git pack-refs --all; git reflog expire --all --expire=now; git gc -q --prune=now; echo x > .git/hooks/pre-commit`)
	if got := r.State(); got != state {
		t.Errorf("the real repository changed:\n%s\nto\n%s", state, got)
	}
	r.Fsck()
	b.inside("rm -rf .git/refs .git/objects .git/HEAD")
	if got := r.State(); got != state {
		t.Error("the real repository changed when the step removed its own")
	}
	set, _ := b.changes(engine.ChangeOptions{SkipDrift: true})
	b.wantSummary(set)
}

func TestLiveUnbornAndDetached(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("f", "one\n")
	b := checkout(t, r, engine.LowerLive).create()
	if got := b.inside("git add f; git commit -q -m first; git log --format='%s %D'"); got != "first HEAD -> ambit/"+b.req.Plan+"\n" {
		t.Errorf("first commit inside: %q", got)
	}
	if out, err := r.Try("rev-parse", "--verify", "HEAD"); err == nil {
		t.Errorf("the real repository has a commit now: %s", out)
	}

	r = history(t)
	r.Git("checkout", "-q", "--detach", "HEAD~1")
	b = checkout(t, r, engine.LowerLive).create()
	b.wantNotice("HEAD is detached")
	if got := b.inside("git log --format=%s; git status --porcelain"); got != "one\n" {
		t.Errorf("log of a detached checkout: %q", got)
	}
}

// O-rows on branches: a branch that makes the sandbox's own impossible is named
// before anything is made.
func TestBranchInTheWay(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Git("branch", "ambit")
	b := checkout(t, r, engine.LowerLive)
	_, err := b.strat.Create(t.Context(), b.req)
	if !fault.Is(err, fault.Conflict) || !strings.Contains(fault.As(err).Hint, "git branch -m ambit") {
		t.Fatalf("%v, want a conflict with the command that solves it", err)
	}
}

func TestLiveUnfinishedMerge(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Git("checkout", "-q", "topic")
	r.Write("f", "topic\n").Commit("topic")
	if _, err := r.Try("merge", "main"); err == nil {
		t.Fatal("the merge should conflict")
	}
	b := checkout(t, r, engine.LowerLive).create()
	b.wantNotice("a merge is under way")
	if got := b.inside("ls .git/MERGE_HEAD 2>/dev/null || echo none; git diff --name-only --diff-filter=U"); got != "none\nf\n" {
		t.Errorf("inside: %q", got)
	}
}

func TestC24_SubmodulesAreNamed(t *testing.T) {
	t.Parallel()
	sub := history(t)
	r := history(t)
	r.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub.Dir, "lib")
	r.Commit("with a submodule")
	b := checkout(t, r, engine.LowerLive).create()
	if n := b.sb.Info().Notices; len(n) != 0 {
		t.Errorf("notices for an initialised submodule: %q", n)
	}
	if got := b.inside("git -C lib log --format=%s -n 1; cat lib/f"); got != "two\ntwo\n" {
		t.Errorf("the submodule inside: %q", got)
	}
	b.inside("cd lib; echo s > f; git commit -qam step; git -C .. status --porcelain")
	if got := sub.At(filepath.Join(r.Dir, "lib")).Git("status", "--porcelain"); got != "" {
		t.Errorf("the real submodule changed: %q", got)
	}
	r.Git("submodule", "deinit", "-f", "lib")
	c := checkout(t, r, engine.LowerLive).create()
	c.wantNotice("submodule lib is not initialised")
	f := checkout(t, r, engine.LowerFrozen).create()
	f.wantNotice("submodules are empty folders inside (lib)")
}

// Objects borrowed from elsewhere are there inside.
func TestAlternates(t *testing.T) {
	t.Parallel()
	origin := history(t)
	dir := filepath.Join(tempDir(t), "clone")
	origin.Git("clone", "-q", "--shared", origin.Dir, dir)
	for _, lower := range []engine.Lower{engine.LowerLive, engine.LowerFrozen} {
		b := checkout(t, origin.At(dir), lower).create()
		en, err := b.sb.Enter(t.Context())
		b.must(err)
		found := false
		for _, m := range en.Mounts {
			found = found || (m.Kind == engine.MountBind && m.ReadOnly && m.Source == filepath.Join(origin.Dir, ".git/objects"))
		}
		if !found {
			t.Errorf("%s: no mount shows the borrowed objects: %+v", lower, en.Mounts)
		}
		if got := b.inside("git log --format=%s; git fsck"); got != "two\none\n" {
			t.Errorf("%s: log %q", lower, got)
		}
	}
}

// A hostile repository makes nothing run on the host, whatever is done with it.
func TestHostileRepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	for _, lower := range []engine.Lower{engine.LowerLive, engine.LowerFrozen} {
		r := history(t)
		r.MakeHostile()
		if _, err := r.Try("status"); err != nil || len(r.Ran()) == 0 {
			t.Fatalf("the traps do not work: %v", err) // nothing below would prove anything
		}
		r.ForgetMarkers()
		if err := os.WriteFile(filepath.Join(r.Dir, "d/x"), []byte("dirty\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.Dir, "new.txt"), []byte("new\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		b := checkout(t, r, lower)
		p, err := b.strat.Probe(t.Context(), b.req)
		b.must(err)
		if !p.OK {
			t.Fatalf("probe: %+v", p)
		}
		b.create()
		en, err := b.sb.Enter(t.Context())
		b.must(err)
		_ = en
		b.changes(engine.ChangeOptions{})
		b.must(b.sb.Checkpoint(t.Context(), "one"))
		b.must(b.sb.Destroy(t.Context(), false))
		if ran := r.Ran(); len(ran) != 0 {
			t.Errorf("%s: ran on the host: %v", lower, ran)
		}
	}
}
