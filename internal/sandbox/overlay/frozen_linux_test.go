package overlay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
	"github.com/ambit-run/ambit/internal/sandbox/overlay"
)

// list is everything in the sandbox but .git, sorted.
const list = "find . -path ./.git -prune -o ! -name . -print | sort"

// What the person does to the checkout after the sandbox was made is not seen in
// it, new files included; ignored files are.
func TestFrozenLower(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Write("d/a.log", "log\n", "node.log", "log\n", "e/only.log", "log\n")
	b := checkout(t, r, engine.LowerFrozen).create()
	want := b.inside(list)
	if want != "./.gitignore\n./d\n./d/a.log\n./d/x\n./e\n./e/only.log\n./f\n./node.log\n" {
		t.Errorf("inside:\n%s", want)
	}
	r.Write("f", "edited\n", "d/x", "edited\n", "untracked", "u\n", "d/untracked", "u\n", "e/untracked", "u\n", "new/dir/f", "u\n")
	b.remove(".gitignore")
	r.Write(".gitignore", "*.log\n", "later.log", "log\n")
	if got := b.inside(list + "; cat f d/x"); got != strings.Replace(want, "./node.log", "./later.log\n./node.log", 1)+"two\nx\n" {
		t.Errorf("inside, after the person's work:\n%s", got)
	}
	if got := b.inside("git status --porcelain; git log --format=%s; git fsck"); got != "two\none\n" {
		t.Errorf("git inside: %q", got)
	}
	b.inside("rm -r d e; mkdir d; echo n > d/n; rm node.log; git add -A; git commit -q -m step")
	if got := b.inside(list); got != "./.gitignore\n./d\n./d/n\n./f\n./later.log\n" {
		t.Errorf("after a step that deleted:\n%s", got)
	}
	set, _ := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "deleted d/a.log", "created d/n", "deleted d/x", "deleted e", "deleted e/only.log", "deleted node.log")
	if len(conflicting(set)) != 0 {
		t.Errorf("conflicts: %v", conflicting(set))
	}
}

// A file that the person un-ignores, or adds where everything was ignored, is
// hidden at the next entrance; one that becomes ignored is shown.
func TestFrozenMaskFollowsTheRules(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Write("only/a.log", "log\n", "d/b.log", "log\n", "note", "n\n")
	b := checkout(t, r, engine.LowerFrozen)
	b.req.Dirty = engine.DirtyHide
	b.create()
	b.wantNotice("1 uncommitted paths are not seen inside")
	if got := b.inside(list); got != "./.gitignore\n./d\n./d/b.log\n./d/x\n./f\n./only\n./only/a.log\n" {
		t.Errorf("inside:\n%s", got)
	}
	r.Write("only/new", "n\n", ".gitignore", "/only/a.log\nnote\n")
	if got := b.inside(list); got != "./.gitignore\n./d\n./d/x\n./f\n./note\n./only\n./only/a.log\n" {
		t.Errorf("after the rules changed:\n%s", got)
	}
	b.remove("only")
	b.remove("note")
	if got := b.inside(list); got != "./.gitignore\n./d\n./d/x\n./f\n" {
		t.Errorf("after the ignored files went:\n%s", got)
	}
}

// C32, C38: with a .worktreeinclude only what it names is brought along, as copies.
func TestC38_WorktreeInclude(t *testing.T) {
	t.Parallel()
	r := history(t)
	outside := filepath.Join(filepath.Dir(r.Dir), "outside.log")
	if err := os.WriteFile(outside, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Write(".worktreeinclude", "*.log\n!big.log\n../outside.log\n/../outside.log\nf\n", "a.log", "log\n", "big.log", "log\n",
		"d/c.log", "log\n", ".gitignore", "*.log\n*.env\n", ".env", "E\n", "x.env", "E\n").Commit("include")
	if err := os.Symlink("a.log", filepath.Join(r.Dir, "l.log")); err != nil {
		t.Fatal(err)
	}
	b := checkout(t, r, engine.LowerFrozen)
	b.req.Include = []string{"x.env"}
	b.create()
	b.wantNotice("4 ignored files were copied")
	if got := b.inside(list); got != "./.gitignore\n./.worktreeinclude\n./a.log\n./d\n./d/c.log\n./d/x\n./f\n./l.log\n./x.env\n" {
		t.Errorf("inside:\n%s", got)
	}
	r.Write("a.log", "edited\n")
	if got := b.inside("cat a.log; git status --porcelain"); got != "log\n" {
		t.Errorf("a copy, as it was: %q", got)
	}
	b.inside("echo s >> a.log")
	set, _ := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "modified a.log")
}

// Every kind of uncommitted work goes along: inside, status is clean, and what a
// step commits is the step's alone.
func TestCarry(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("mod", "1\n", "staged", "1\n", "both", "1\n", "gone", "1\n", "dir/a", "1\n", "dir/b", "1\n", "kind-file", "1\n", "kind-dir/f", "1\n",
		"mode", "1\n", "same", "1\n", "sub/keep", "1\n", ".gitignore", "*.log\n").Commit("one")
	if err := os.Symlink("mod", filepath.Join(r.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	r.Commit("two")
	b := checkout(t, r, engine.LowerFrozen)
	b.write("mod", "2\n", "staged", "2\n", "both", "2\n", "new", "n\n", "sub/new", "n\n", "deep/er/new", "n\n", "x.log", "log\n", "same", "1\n")
	r.Git("add", "staged", "both")
	b.write("both", "3\n")
	b.remove("gone")
	b.remove("dir")
	b.remove("kind-file")
	b.write("kind-file/in", "n\n")
	b.remove("kind-dir")
	b.write("kind-dir", "n\n")
	b.remove("link")
	b.must(os.Symlink("both", filepath.Join(b.dir, "link")))
	b.must(os.Chmod(filepath.Join(b.dir, "mode"), 0o755))
	b.must(os.WriteFile(filepath.Join(b.dir, "odd \xff\n"), []byte("odd"), 0o600))
	state := r.State()
	b.create()
	rec := b.sb.Info()
	if rec.Base != r.Git("rev-parse", "HEAD") || rec.ChainBase == rec.Base || rec.ChainBase == "" {
		t.Errorf("base %s, chain base %s", rec.Base, rec.ChainBase)
	}
	var real []string
	for _, p := range []string{"both", "deep", "deep/er", "deep/er/new", "kind-dir", "kind-file", "kind-file/in", "link", "mod", "mode", "new", "odd \xff\n", "same", "staged", "sub", "sub/keep", "sub/new", "x.log", ".gitignore"} {
		real = append(real, "./"+p)
	}
	sort.Strings(real)
	if got := b.inside("find . -path ./.git -prune -o ! -name . -print0 | sort -z | tr '\\0' '|'"); got != strings.Join(real, "|")+"|" {
		t.Errorf("inside:\n%q\nwant\n%q", got, strings.Join(real, "|"))
	}
	if got := b.inside("git status --porcelain; cat both staged; readlink link; git log --format=%s; git rev-parse HEAD~1 HEAD; test -x mode"); got !=
		"3\n2\nboth\nUncommitted work at the start of "+b.req.Plan+"\ntwo\none\n"+rec.Base+"\n"+rec.ChainBase+"\n" {
		t.Errorf("git inside: %q", got)
	}
	if got := b.inside("git diff --no-renames --name-status -z HEAD~1 HEAD | tr '\\0' ' '"); got !=
		"M both A deep/er/new D dir/a D dir/b D gone A kind-dir D kind-dir/f D kind-file A kind-file/in M link M mod M mode A new A odd \xff\n M staged A sub/new " {
		t.Errorf("the carry commit: %q", got)
	}
	b.inside("echo s >> mod; echo s > mine; git add -A; git commit -q -m step; git fsck")
	if got := b.inside("git show --format= --name-only HEAD; git status --porcelain"); got != "mine\nmod\n" {
		t.Errorf("the step's commit: %q", got)
	}
	set, _ := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "created mine", "modified mod")
	if set.Changes[1].Before.Size != 2 {
		t.Errorf("before the step mod was the person's: %+v", set.Changes[1].Before)
	}
	if got := r.State(); got != state {
		t.Error("the real repository changed")
	}
	if out, err := r.Try("cat-file", "-t", rec.ChainBase); err == nil {
		t.Errorf("the carry commit is in the real repository: %s", out)
	}
}

func TestC125_DirtyRefuse(t *testing.T) {
	t.Parallel()
	r := history(t)
	b := checkout(t, r, engine.LowerFrozen)
	b.write("f", "edited\n", "new", "n\n")
	b.req.Dirty = engine.DirtyRefuse
	_, err := b.strat.Create(t.Context(), b.req)
	f := fault.As(err)
	if !fault.Is(err, fault.Conflict) || fmt.Sprint(f.Paths) != "[f new]" || f.Hint == "" {
		t.Fatalf("%v %v %q", err, f.Paths, f.Hint)
	}
	r.Commit("clean")
	b.req.Resource.Git.Head = r.Git("rev-parse", "HEAD")
	b.create()
	if got := b.inside("git status --porcelain; git log --format=%s -n 1"); got != "clean\n" {
		t.Errorf("inside: %q", got)
	}
}

// A nested repository with work in it is named and left behind.
func TestCarryLeavesRepositoriesBehind(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Git("init", "-q", "nested")
	b := checkout(t, r, engine.LowerFrozen)
	b.write("nested/f", "n\n", "f", "edited\n")
	b.create()
	b.wantNotice("nested is a repository of its own")
	if got := b.inside(list + "; cat f"); got != "./.gitignore\n./d\n./d/x\n./f\nedited\n" {
		t.Errorf("inside: %q", got)
	}
}

// bases lists the commits that have a base.
func (b *box) bases() []string {
	b.t.Helper()
	got, err := filepath.Glob(filepath.Join(b.req.BasesDir, "*", strings.Repeat("?", 40)))
	b.must(err)
	return got
}

// A base is made once for a commit, whoever asks for it and how many at a time.
func TestBaseIsShared(t *testing.T) {
	t.Parallel()
	b := checkout(t, history(t), engine.LowerFrozen)
	boxes := make([]*box, 8)
	var g errgroup.Group
	for i := range boxes {
		boxes[i] = b.sibling(fmt.Sprintf("plan-%d", i))
		g.Go(func() (err error) {
			// A strategy of its own stands for a process of its own: locks are per open file.
			s := overlay.New(overlay.Options{Git: boxes[i].git})
			boxes[i].sb, err = s.Create(t.Context(), boxes[i].req)
			return err
		})
	}
	b.must(g.Wait())
	if n := len(b.bases()); n != 1 {
		t.Errorf("%d bases of one commit", n)
	}
	for i, x := range boxes {
		x.inside(fmt.Sprintf("echo %d > f", i))
	}
	for i, x := range boxes {
		if got := x.inside("cat f"); got != fmt.Sprintf("%d\n", i) {
			t.Errorf("sandbox %d reads %q", i, got)
		}
		b.must(x.sb.Destroy(t.Context(), false))
	}
	if n := len(b.bases()); n != 1 {
		t.Errorf("%d bases after the sandboxes are gone: a base stays for the next", n)
	}
}

// A base that nobody stands on moves to the next commit by what differs; one
// that is in use stays.
func TestBaseMoves(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	for i := range 30 {
		r.Write(fmt.Sprintf("d%d/f", i), fmt.Sprintf("%d\n", i))
	}
	r.Write("kind", "file\n", "old/sub/f", "f\n").Commit("one")
	b := checkout(t, r, engine.LowerFrozen).create()
	b.remove("kind")
	b.remove("old")
	r.Write("kind/now", "dir\n", "d3/f", "changed\n", "old", "file\n")
	b.must(os.Chmod(filepath.Join(r.Dir, "d4/f"), 0o755))
	two := r.Commit("two")
	c := b.sibling("plan-two")
	c.req.Resource.Git.Head = two
	c.create()
	if n := len(b.bases()); n != 2 {
		t.Fatalf("%d bases while both are in use", n)
	}
	b.must(c.sb.Destroy(t.Context(), false))
	b.must(b.sb.Destroy(t.Context(), false))
	b.must(os.RemoveAll(c.bases()[0])) // leave one, whichever
	left := b.bases()[0]
	d := b.sibling("plan-three")
	d.req.Resource.Git.Head = two
	if strings.HasSuffix(left, two) { // then the way back is the move
		r.Git("checkout", "-q", "HEAD~1")
		d.req.Resource.Git.Head, d.req.Resource.Git.Branch = r.Git("rev-parse", "HEAD"), ""
	}
	before, err := os.Stat(filepath.Join(left, "tree/d7/f"))
	b.must(err)
	d.create()
	if got := d.bases(); len(got) != 1 || got[0] == left {
		t.Fatalf("bases after the move: %v, was %s", got, left)
	}
	after, err := os.Stat(filepath.Join(d.bases()[0], "tree/d7/f"))
	b.must(err)
	if !os.SameFile(before, after) {
		t.Error("an unchanged file was written again: the base was not moved")
	}
	want := r.Git("ls-tree", "-r", "HEAD")
	if got := strings.TrimSpace(d.inside("git status --porcelain --ignored; git ls-tree -r HEAD; git update-index --really-refresh")); got != want {
		t.Errorf("the moved base inside:\n%s\nwant\n%s", got, want)
	}
	if got, want := d.inside(list), strings.ReplaceAll("./"+strings.Join(strings.Fields(r.Git("ls-tree", "-r", "-t", "--name-only", "HEAD")), "\n./"), "\n./\n", "\n"); got != sortLines(want) {
		t.Errorf("files of the moved base:\n%s\nwant\n%s", got, sortLines(want))
	}
}

func sortLines(s string) string {
	l := strings.Split(strings.TrimSpace(s), "\n")
	sort.Strings(l)
	return strings.Join(l, "\n") + "\n"
}

// A base is verified again in every boot, and mended; one that was removed is
// made again where a sandbox stands on it.
func TestBaseIsMended(t *testing.T) {
	t.Parallel()
	r := history(t)
	b := checkout(t, r, engine.LowerFrozen).create()
	base := b.bases()[0]
	b.must(os.Truncate(filepath.Join(base, "tree/f"), 0)) // as a power cut may
	next := b.sibling("plan-next")
	next.strat = overlay.New(overlay.Options{Git: b.git, Boot: "another-boot"})
	next.create()
	if got := next.inside("cat f; git status --porcelain"); got != "two\n" {
		t.Errorf("inside, after the next boot: %q", got)
	}
	b.must(os.RemoveAll(base))
	if got := b.inside("cat f; git status --porcelain"); got != "two\n" {
		t.Errorf("inside, after the base was removed: %q", got)
	}
	// What a crash left half made is nobody's.
	half := filepath.Join(filepath.Dir(base), ".making-"+strings.Repeat("0", 40))
	b.must(os.MkdirAll(filepath.Join(half, "tree/x"), 0o700))
	r.Write("f", "three\n").Commit("three")
	third := b.sibling("plan-third")
	third.create()
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Errorf("half a base is left: %v", err)
	}
}

func TestFrozenNeedsACommit(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("f", "f\n")
	b := checkout(t, r, engine.LowerFrozen)
	p, err := b.strat.Probe(t.Context(), b.req)
	b.must(err)
	if p.OK || !strings.Contains(p.Missing[0], "use the live lower") {
		t.Errorf("probe: %+v", p)
	}
	if _, err := b.strat.Create(t.Context(), b.req); !fault.Is(err, fault.Unsupported) {
		t.Errorf("create: %v", err)
	}
	c := plain(t, "f", "f\n")
	c.req.Lower = engine.LowerFrozen
	if _, err := c.strat.Create(t.Context(), c.req); !fault.Is(err, fault.Unsupported) {
		t.Errorf("a frozen plain directory: %v", err)
	}
}

// LFS pointers and other filters are named (C25, C26); the pointers are clean.
func TestC25_FiltersAreNamed(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.enc filter=crypt\n", "a.bin", "version https://git-lfs.github.com/spec/v1\n", "k.enc", "k\n").Commit("filters")
	b := checkout(t, r, engine.LowerFrozen).create()
	b.wantNotice("1 files are Git LFS pointers inside (a.bin)")
	b.wantNotice(`1 files are shown without the filter "crypt" (k.enc)`)
	if got := b.inside("git status --porcelain"); got != "" {
		t.Errorf("status inside: %q", got)
	}
}

func TestFrozenTimesFit(t *testing.T) {
	t.Parallel()
	r := history(t)
	b := checkout(t, r, engine.LowerFrozen).create()
	// If stat data did not fit, git would have to read every file and would say
	// which index entries it had to look at again.
	if got := b.inside("git diff-files --name-only; git update-index --refresh"); got != "" {
		t.Errorf("index entries that do not fit: %q", got)
	}
}

// The mask is computed again only when something that it rests on has changed.
func TestMaskIsKept(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Write("d/a.log", "log\n")
	b := checkout(t, r, engine.LowerFrozen).create()
	// A file that is written again is another one, also within one tick of the clock.
	written := func() os.FileInfo {
		_, err := b.sb.Enter(t.Context())
		b.must(err)
		info, err := os.Stat(filepath.Join(b.req.Dir, "mask.json"))
		b.must(err)
		return info
	}
	kept := func() bool { return os.SameFile(written(), written()) }
	for deadline := time.Now().Add(10 * time.Second); !kept(); {
		if time.Now().After(deadline) {
			t.Fatal("computed at every entrance, though nothing changes")
		}
	}
	b.attach()
	if !kept() {
		t.Error("another process computes it again")
	}
	for _, path := range []string{"new", "d/new", "d/.gitignore"} {
		was := written()
		r.Write(path, "x\n")
		if os.SameFile(written(), was) {
			t.Errorf("not computed again after %s appeared", path)
		}
		if got := b.inside("ls -d " + path + " 2>/dev/null || true"); got != "" {
			t.Errorf("inside: %q", got)
		}
	}
}
