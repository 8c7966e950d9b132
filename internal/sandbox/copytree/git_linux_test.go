package copytree

import (
	"os"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// outside is everything about a real repository that must stay as it is.
func (s *scene) outside(repo string) string {
	s.t.Helper()
	return s.sh(repo, `export GIT_OPTIONAL_LOCKS=0
		git rev-parse HEAD; git symbolic-ref -q HEAD || true; git for-each-ref; git status --porcelain=v2 --branch 2>&1 || true
		git reflog -20; git worktree list --porcelain; git count-objects -v | grep -v size
		cd "$(git rev-parse --git-common-dir)" && find . -type f ! -name '*.lock' -printf '%p %m %s %T@\n' | sort && cat config packed-refs 2>/dev/null || true`)
}

func TestGitInsideIsAsOutside(t *testing.T) {
	t.Parallel()
	for _, confined := range []bool{false, true} {
		s := newScene(t)
		s.git()
		s.req.Confined = confined
		s.sh(s.src, `echo staged > staged && git add staged && echo dirty >> one && echo un > untracked && echo log > x.log && rm d/two && git stash list
			git update-ref refs/notes/x HEAD && git update-ref refs/remotes/origin/main HEAD && git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main && git pack-refs`)
		before := s.outside(s.src)
		sb := s.create()
		status := "git status --porcelain=v2 --untracked-files=all --ignored | grep -v '^# branch'"
		if in, out := s.sh(s.tree(), status), s.sh(s.src, "GIT_OPTIONAL_LOCKS=0 "+status); in != out {
			t.Errorf("status inside:\n%s\noutside:\n%s", in, out)
		}
		if got := strings.TrimSpace(s.sh(s.tree(), "git symbolic-ref HEAD")); got != "refs/heads/ambit/p1" {
			t.Errorf("HEAD is on %s", got)
		}
		refs := "git for-each-ref --format='%(refname) %(objectname) %(*objectname) %(symref)' | grep -v refs/heads/ambit/"
		if in, out := s.sh(s.tree(), refs), s.sh(s.src, refs); in != out {
			t.Errorf("references inside:\n%s\noutside:\n%s", in, out)
		}
		info := sb.Info()
		if info.Base != s.req.Resource.Git.Head || info.ChainBase != info.Base {
			t.Errorf("base %s, chain base %s", info.Base, info.ChainBase)
		}
		set, _ := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
		if len(set.Changes) > 0 {
			t.Errorf("git left changes:\n%s", list(set))
		}
		// Everything that a step may do to a repository.
		s.sh(s.tree(), `git add -A && git commit -qm step && git tag mine && git branch -f other HEAD && git config user.name x && git stash list &&
			git update-ref -d refs/tags/v1 && git gc -q --prune=now && git fsck --strict && git reflog expire --expire=now --all`)
		if after := s.outside(s.src); after != before {
			t.Errorf("the real repository changed:\n%s\nwas:\n%s", after, before)
		}
	}
}

func TestGitCheckpointsHoldTheRepository(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git()
	ctx := t.Context()
	sb := s.create()
	must(t, sb.Checkpoint(ctx, "one"))
	look := "git rev-parse HEAD; git for-each-ref; git status --porcelain=v2; cat .git/config; git log --oneline"
	shapeOne := shape(t, s.tree())
	one := s.sh(s.tree(), look)
	s.sh(s.tree(), "echo x > new && git add -A && git commit -qm step && git config a.b c && git branch -D other && git gc -q --prune=now")
	must(t, sb.Checkpoint(ctx, "two"))
	two := s.sh(s.tree(), look)
	s.sh(s.tree(), "rm -rf .git one")
	set, _ := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	if got := list(set); got != "created new\ndeleted one" {
		t.Errorf("git's own folder counts:\n%s", got)
	}
	must(t, s.again().Restore(ctx, "two"))
	if got := s.sh(s.tree(), look+"; git fsck --strict"); !strings.HasPrefix(got, two) {
		t.Errorf("two is now:\n%s\nwas:\n%s", got, two)
	}
	must(t, s.again().Restore(ctx, "one"))
	sameShape(t, shape(t, s.tree()), shapeOne)
	if got := s.sh(s.tree(), look); got != one {
		t.Errorf("one is now:\n%s\nwas:\n%s", got, one)
	}
}

func TestO57_C76_LinkedWorktreeBecomesARepository(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		s := newScene(t)
		s.git()
		main := s.src
		if bare {
			s.sh(s.base, "git clone -q --bare src bare.git")
			main = s.base + "/bare.git"
		}
		wt := s.base + "/wt"
		s.sh(main, "git config extensions.worktreeConfig true")
		if bare { // as git's manual asks for
			s.sh(main, "git config --worktree core.bare true; git config --unset core.bare")
		}
		s.sh(main, "git worktree add -q -b feature "+wt)
		s.sh(wt, "git config --worktree x.y only-here; echo dirty >> one; echo s > staged; git add staged; git bisect start; git bisect reset -q || true")
		common := main + "/.git"
		if bare {
			common = main
		}
		s.gitResource(wt, common+"/worktrees/wt", common)
		before, beforeWt := s.outside(main), s.outside(wt)
		s.create()
		status := "git status --porcelain=v2 --untracked-files=all"
		if in, out := s.sh(s.tree(), status), s.sh(wt, "GIT_OPTIONAL_LOCKS=0 "+status); in != out {
			t.Errorf("bare %v: status inside:\n%s\noutside:\n%s", bare, in, out)
		}
		for cmd, want := range map[string]string{
			"git rev-parse --absolute-git-dir":                           s.tree() + "/.git",
			"git rev-parse --show-toplevel":                              s.tree(),
			"git config x.y":                                             "only-here",
			"git symbolic-ref HEAD":                                      "refs/heads/ambit/p1",
			"git worktree list --porcelain | grep ^worktree":             "worktree " + s.tree(),
			"cd d && git rev-parse --show-toplevel":                      s.tree(),
			"git rev-parse --is-bare-repository":                         "false",
			"git rev-parse feature":                                      s.req.Resource.Git.Head,
			"git config --get-all core.worktree | tail -1":               "..",
			"git log --oneline | wc -l | tr -d ' '":                      "2",
			"git -C d rev-parse --path-format=absolute --git-common-dir": s.tree() + "/.git",
		} {
			if got := strings.TrimSpace(s.sh(s.tree(), cmd)); got != want {
				t.Errorf("bare %v: %s: %q, want %q", bare, cmd, got, want)
			}
		}
		// What agents did to each other: prune and remove through the pointer.
		s.sh(s.tree(), `git worktree prune -v; git add -A; git commit -qm step; git worktree add -q ../wt2; git worktree remove --force ../wt2; git gc -q --prune=now; git fsck --strict`)
		if after := s.outside(main); after != before {
			t.Errorf("bare %v: the real repository changed:\n%s\nwas:\n%s", bare, after, before)
		}
		if after := s.outside(wt); after != beforeWt {
			t.Errorf("bare %v: the real worktree changed:\n%s\nwas:\n%s", bare, after, beforeWt)
		}
	}
}

func TestO57_PointersInsideLeadNowhereElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git()
	s.sh(s.base, `git init -q -b main lib && cd lib && echo l > l && git add -A && git commit -qm l`)
	s.sh(s.src, `git -c protocol.file.allow=always submodule --quiet add ../lib sub && git commit -qm sub
		git worktree add -q nested -b nested
		echo "gitdir: $PWD/.git/modules/sub" > sub/.git
		git init -q own && (cd own && echo o > o && git add -A && git commit -qm o)
		git clone -q --no-hardlinks --separate-git-dir `+s.base+`/far.git ../lib far`)
	s.gitResource(s.src, s.src+"/.git", s.src+"/.git")
	before, far, sub := s.outside(s.src), s.outside(s.src+"/far"), s.outside(s.src+"/sub")
	sb := s.create()
	if got := strings.TrimSpace(s.sh(s.tree()+"/sub", "git rev-parse --absolute-git-dir; git rev-parse --show-toplevel")); got != s.tree()+"/.git/modules/sub\n"+s.tree()+"/sub" {
		t.Errorf("the submodule's repository is %s", got)
	}
	s.sh(s.tree()+"/sub", "echo x > x && git add -A && git commit -qm x")
	s.sh(s.tree()+"/own", "echo x > x && git add -A && git commit -qm x")
	for _, dir := range []string{"nested", "far"} {
		if out := s.sh(s.tree()+"/"+dir, "git status 2>&1 && echo WORKS || true"); !strings.Contains(out, "not a git repository") || strings.Contains(out, "WORKS") {
			t.Errorf("%s: %s", dir, out)
		}
		if n := strings.Join(sb.Info().Notices, "\n"); !strings.Contains(n, dir+" belongs to a repository whose git directory is not part of the copy") {
			t.Errorf("%s is not named: %s", dir, n)
		}
	}
	if s.outside(s.src) != before || s.outside(s.src+"/far") != far || s.outside(s.src+"/sub") != sub {
		t.Error("a real repository changed")
	}
	pointer := readFile(t, s.tree()+"/sub/.git")
	must(t, os.Remove(s.tree()+"/sub/.git"))
	must(t, sb.Checkpoint(t.Context(), "x"))
	must(t, sb.Rollback(t.Context()))
	if got := readFile(t, s.tree()+"/sub/.git"); got != pointer {
		t.Errorf("the pointer came back as %q", got)
	}
	must(t, sb.Restore(t.Context(), "x"))
	set, _ := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	if list(set) != "created own/x\ncreated sub/x" {
		t.Errorf("changes:\n%s", list(set))
	}
	if got := skips(set); !strings.Contains(got, "own/.git: belongs to a repository inside the repository") {
		t.Errorf("skipped:\n%s", got)
	}
	// Other spellings that some system takes for a git directory.
	write(t, s.tree()+"/x/.GIT/config", "evil")
	set, _ = changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	if got := skips(set); !strings.Contains(got, "x/.GIT: belongs") || strings.Contains(list(set), ".GIT") {
		t.Errorf("skipped:\n%s\nchanges:\n%s", got, list(set))
	}
}

func TestGitBorrowedObjectsComeAlong(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git()
	s.sh(s.base, "git clone -q -s src borrower && git -C borrower gc -q")
	b := s.base + "/borrower"
	s.gitResource(b, b+"/.git", b+"/.git")
	s.create()
	s.sh(s.base, "mv src away") // the lender is gone
	s.sh(s.tree(), "git fsck --strict && git log -p > /dev/null && test ! -e .git/objects/info/alternates")
}

func TestGitCarriesUncommittedWork(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git()
	s.req.Lower, s.req.Dirty = engine.LowerFrozen, engine.DirtyCarry
	s.sh(s.src, `echo staged > staged && git add staged && echo dirty >> one && echo un > untracked && echo log > x.log && rm d/two && chmod +x .gitignore &&
		printf 'a\nb' > $'odd\nname' && ln -s one link && git rm -q --cached .gitignore`)
	before := s.outside(s.src)
	sb := s.create()
	if got := s.sh(s.tree(), "git status --porcelain"); got != "" {
		t.Errorf("not carried:\n%s", got)
	}
	info := sb.Info()
	carry := strings.TrimSpace(s.sh(s.tree(), "git rev-parse HEAD"))
	if info.ChainBase != carry || info.Base != s.req.Resource.Git.Head || strings.TrimSpace(s.sh(s.tree(), "git rev-parse HEAD^")) != info.Base {
		t.Errorf("base %s, chain base %s, HEAD %s", info.Base, info.ChainBase, carry)
	}
	if got := readFile(t, s.tree()+"/x.log"); got != "log\n" {
		t.Errorf("an ignored file is %q", got)
	}
	s.sh(s.tree(), "echo step > step && git add -A && git commit -qm step")
	if got := s.sh(s.tree(), "git diff --name-only "+carry+" HEAD"); got != "step\n" {
		t.Errorf("the plan's commit holds the person's work: %s", got)
	}
	set, _ := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	if list(set) != "created step" {
		t.Errorf("changes:\n%s", list(set))
	}
	if after := s.outside(s.src); after != before {
		t.Errorf("the real repository changed:\n%s\nwas:\n%s", after, before)
	}
	// Creation comes back although the real repository never had the carry commit.
	must(t, sb.Rollback(t.Context()))
	if got := s.sh(s.tree(), "git status --porcelain && git fsck --strict && git rev-parse HEAD"); strings.TrimSpace(got) != carry {
		t.Errorf("rolled back to %s", got)
	}
	s.sh(s.tree(), "echo step > step && git add -A && git commit -qm step")
	// The carry commit is no work of the plan that destroying would lose, a step's is.
	wantCode(t, sb.Destroy(t.Context(), false), fault.Conflict, "ambit/p1")

	clean := newScene(t)
	clean.git()
	clean.req.Lower, clean.req.Dirty = engine.LowerFrozen, engine.DirtyCarry
	if info := clean.create().Info(); info.ChainBase != info.Base {
		t.Errorf("carried nothing as %s", info.ChainBase)
	}
	must(t, clean.again().Destroy(t.Context(), false))
}

func TestGitDirtyRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git()
	s.sh(s.src, "echo dirty >> one")
	for _, lower := range []engine.Lower{engine.LowerFrozen, engine.LowerLive} {
		s.req.Lower, s.req.Dirty = lower, engine.DirtyRefuse
		_, err := s.strat.Create(t.Context(), s.req)
		wantCode(t, err, fault.Conflict, "one", "--dirty=carry")
	}
	s.req.Lower, s.req.Dirty = engine.LowerFrozen, engine.DirtyHide
	if p, err := s.strat.Probe(t.Context(), s.req); err != nil || p.OK {
		t.Errorf("%+v %v", p, err)
	}
	s.req.Dirty = engine.DirtyCarry
	s.sh(s.src, "git commit -qam a; git checkout -qb x HEAD^; echo other >> one; git commit -qam b; git merge main || true")
	_, err := s.strat.Create(t.Context(), s.req)
	wantCode(t, err, fault.Conflict, "one", "merge")
	if _, err := os.Stat(s.tree()); err == nil {
		t.Error("refused, and copied all the same")
	}
}

func TestC2_DestroyKeepsCommitsThatExistNowhereElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git()
	ctx := t.Context()
	sb := s.create()
	s.sh(s.tree(), "git commit -q --allow-empty -m step && git checkout -q --detach && git commit -q --allow-empty -m loose && git tag t2 && git pack-refs --all")
	err := sb.Destroy(ctx, false)
	wantCode(t, err, fault.Conflict, "HEAD", "ambit/p1")
	s.again() // it is still there
	// Once the real repository has them under a reference, they are not lost.
	s.sh(s.src, "git fetch -q "+s.tree()+" HEAD:refs/heads/taken")
	must(t, sb.Checkpoint(ctx, "with"))
	must(t, sb.Rollback(ctx))
	must(t, sb.Destroy(ctx, false))

	// A commit that only a checkpoint holds counts, too.
	c := newScene(t)
	c.git()
	sb = c.create()
	c.sh(c.tree(), "git commit -q --allow-empty -m step && git gc -q")
	must(t, sb.Checkpoint(ctx, "with"))
	must(t, sb.Rollback(ctx))
	wantCode(t, sb.Destroy(ctx, false), fault.Conflict, "in checkpoint with")

	o := newScene(t)
	o.git()
	sb = o.create()
	o.sh(o.tree(), "git commit -q --allow-empty -m step")
	must(t, sb.Destroy(ctx, true))
	// A repository that a step has wrecked is no hindrance.
	o.create()
	o.sh(o.tree(), "rm -rf .git && mkfifo .git")
	must(t, o.again().Destroy(ctx, false))
	o.create()
	o.sh(o.tree(), "rm .git/HEAD .git/packed-refs; mkfifo .git/HEAD; ln -s /etc/passwd .git/packed-refs; echo garbage > .git/refs/heads/x")
	must(t, o.again().Destroy(ctx, false))
}

func TestGitOddStarts(t *testing.T) {
	t.Parallel()
	t.Run("unborn", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.sh(s.src, "git init -q -b main . && echo x > x && git add x")
		s.req.Resource.Type, s.req.Resource.Git = engine.TypeGitCheckout, &engine.GitInfo{GitDir: s.src + "/.git", CommonDir: s.src + "/.git", Branch: "refs/heads/main"}
		sb := s.create()
		if got := s.sh(s.tree(), "git symbolic-ref HEAD && git status --porcelain && git commit -qm first && git log --oneline | wc -l"); !strings.HasPrefix(got, "refs/heads/ambit/p1\nA  x\n") {
			t.Error(got)
		}
		if b := sb.Info().Base; b != "" {
			t.Errorf("base %q", b)
		}
	})
	t.Run("detached", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.git()
		s.sh(s.src, "git checkout -q --detach HEAD^")
		head := strings.TrimSpace(s.sh(s.src, "git rev-parse HEAD"))
		sb := s.create()
		if got := strings.TrimSpace(s.sh(s.tree(), "git symbolic-ref HEAD && git rev-parse HEAD")); got != "refs/heads/ambit/p1\n"+head {
			t.Error(got)
		}
		if n := strings.Join(sb.Info().Notices, "\n"); !strings.Contains(n, "detached") {
			t.Error(n)
		}
	})
	t.Run("name taken", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.git()
		s.sh(s.src, "git branch ambit")
		_, err := s.strat.Create(t.Context(), s.req)
		wantCode(t, err, fault.Conflict, "refs/heads/ambit")
	})
	t.Run("locks and other worktrees stay behind", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.git()
		s.sh(s.src, "touch .git/index.lock .git/HEAD.lock; git worktree add -q "+s.base+"/wt other")
		s.create()
		s.sh(s.tree(), "git add -A && git commit -q --allow-empty -m x && git checkout -q other && test ! -e .git/worktrees")
	})
}

// TestV_HostileTreeRunsNothing: a step's repository, configured to run programs
// on every occasion, is compared, checkpointed, restored and destroyed.
func TestHostileRepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git()
	sb := s.create()
	mark := s.base + "/ran"
	evil := s.tree() + "/evil.sh"
	write(t, evil, "#!/bin/sh\ntouch "+mark+"\ncat\n")
	must(t, os.Chmod(evil, 0o755))
	s.sh(s.tree(), `git commit -q --allow-empty -m x
		git config core.fsmonitor `+evil+`; git config filter.x.clean `+evil+`; git config filter.x.smudge `+evil+`; git config diff.x.textconv `+evil+`
		git config core.hooksPath `+s.tree()+`; git config core.pager `+evil+`; git config core.sshCommand `+evil+`; git config diff.external `+evil+`
		echo '* filter=x diff=x' > .gitattributes; echo `+mark+` > .git/objects/info/alternates; cp evil.sh reference-transaction; cp evil.sh post-checkout`)
	_ = os.Remove(mark)
	ctx := t.Context()
	must(t, sb.Checkpoint(ctx, "x"))
	_, src := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	_, _ = contents(src, changeset.After, ".gitattributes")
	must(t, sb.Restore(ctx, "x"))
	must(t, sb.Rollback(ctx))
	must(t, sb.Restore(ctx, "x"))
	wantCode(t, sb.Destroy(ctx, false), fault.Conflict)
	must(t, sb.Destroy(ctx, true))
	if _, err := os.Stat(mark); err == nil {
		t.Error("something of the sandbox's ran on the host")
	}
}
