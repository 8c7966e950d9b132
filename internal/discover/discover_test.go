package discover_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/discover"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

func find(t *testing.T, path string) (engine.Resource, error) {
	t.Helper()
	return discover.New(gittest.Git(t), "").Discover(t.Context(), path)
}

func mustFind(t *testing.T, path string) engine.Resource {
	t.Helper()
	res, err := find(t, path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return res
}

func wantFault(t *testing.T, path string, code fault.Code, text string) {
	t.Helper()
	res, err := find(t, path)
	if !fault.Is(err, code) || !strings.Contains(err.Error()+fault.As(err).Hint, text) {
		t.Fatalf("%s: got %+v, %v; want %s with %q", path, res, err, code, text)
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, path, data string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := mkdir(t, filepath.Join(realTemp(t), "plain dir"))
	want := engine.Resource{Name: "plain dir", Type: engine.TypeFSDirectory, Path: dir}
	if d := cmp.Diff(want, mustFind(t, dir)); d != "" {
		t.Fatal(d)
	}
	write(t, filepath.Join(dir, "f"), "x")
	if d := cmp.Diff(want, mustFind(t, filepath.Join(dir, "f"))); d != "" {
		t.Fatal(d)
	}
	wantFault(t, dir+"/./x/../", fault.NotFound, "does not exist")
}

func TestCheckoutFromSubdirectory(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	git := filepath.Join(r.Dir, ".git")
	want := engine.Resource{
		Name: "repo", Type: engine.TypeGitCheckout, Path: r.Dir,
		Git: &engine.GitInfo{GitDir: git, CommonDir: git, Branch: "refs/heads/main"},
	}
	sub := mkdir(t, filepath.Join(r.Dir, "a/b"))
	if d := cmp.Diff(want, mustFind(t, sub)); d != "" {
		t.Fatalf("before the first commit: %s", d)
	}
	want.Git.Head = r.Write("a/b/f", "1").Commit("one")
	for _, p := range []string{sub, r.Dir, filepath.Join(sub, "f"), filepath.Join(sub, "..", "b", "f")} {
		if d := cmp.Diff(want, mustFind(t, p)); d != "" {
			t.Fatalf("%s: %s", p, d)
		}
	}
	r.Git("checkout", "-q", "--detach")
	want.Git.Branch = ""
	if d := cmp.Diff(want, mustFind(t, sub)); d != "" {
		t.Fatalf("detached: %s", d)
	}
}

// TestC76_GitFileDirectoryAndLink: .git may be a directory, a pointer file or a link.
func TestC76_GitFileDirectoryAndLink(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	head := r.Write("a", "1").Commit("one")
	base := filepath.Dir(r.Dir)

	wt := filepath.Join(base, "linked")
	r.Git("worktree", "add", "-q", "-b", "side", wt)
	got := mustFind(t, wt)
	want := &engine.GitInfo{GitDir: filepath.Join(r.Dir, ".git/worktrees/linked"), CommonDir: filepath.Join(r.Dir, ".git"), Head: head, Branch: "refs/heads/side"}
	if d := cmp.Diff(want, got.Git); d != "" || got.Path != wt {
		t.Fatalf("linked worktree: %s %s", got.Path, d)
	}

	outside := filepath.Join(base, "elsewhere.git")
	if err := os.Rename(filepath.Join(r.Dir, ".git"), outside); err != nil {
		t.Fatal(err)
	}
	symlink(t, "../elsewhere.git", filepath.Join(r.Dir, ".git"))
	got = mustFind(t, r.Dir)
	if got.Git.GitDir != outside || got.Git.Head != head || got.Path != r.Dir {
		t.Fatalf("linked .git: %+v", got.Git)
	}
}

func TestSubmoduleIsACheckoutOfItsOwn(t *testing.T) {
	t.Parallel()
	inner, outer := gittest.New(t), gittest.New(t)
	head := inner.Write("x", "1").Commit("inner")
	outer.Write("y", "1").Commit("outer")
	outer.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.Dir, "lib/inner")
	got := mustFind(t, filepath.Join(outer.Dir, "lib/inner"))
	gitDir := filepath.Join(outer.Dir, ".git/modules/lib/inner")
	want := &engine.GitInfo{GitDir: gitDir, CommonDir: gitDir, Head: head, Branch: "refs/heads/main"}
	if d := cmp.Diff(want, got.Git); d != "" || got.Path != filepath.Join(outer.Dir, "lib/inner") {
		t.Fatalf("%s %s", got.Path, d)
	}
	if got := mustFind(t, filepath.Join(outer.Dir, "lib")); got.Path != outer.Dir {
		t.Fatalf("above the submodule: %s", got.Path)
	}
}

// TestC104_BothSpellings: a resource reached through a link keeps both names.
func TestC104_BothSpellings(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("a/b/f", "1").Commit("one")
	base := filepath.Dir(r.Dir)
	symlink(t, "repo", filepath.Join(base, "alias"))
	symlink(t, r.Dir+"/a/b", filepath.Join(base, "deep"))
	for path, spelled := range map[string]string{
		base + "/alias":       base + "/alias",
		base + "/alias/a/b":   base + "/alias",
		base + "/alias/a/b/f": base + "/alias",
		base + "/alias/./a/":  base + "/alias",
		base + "/deep":        "", // the link leads below the top: there is no other name for the top
		base + "/deep/..":     "", // means repo/a, as the kernel sees it, not base
		r.Dir + "/a":          "",
	} {
		got := mustFind(t, path)
		if got.Path != r.Dir || got.Spelled != spelled {
			t.Errorf("%s: path %s spelled %q, want %q", path, got.Path, got.Spelled, spelled)
		}
	}
}

func TestRelativePaths(t *testing.T) {
	r := gittest.New(t)
	r.Write("a/b/f", "1").Commit("one")
	t.Chdir(filepath.Join(r.Dir, "a/b"))
	for _, p := range []string{"", ".", "..", "f", "../..", "../b/f"} {
		if got := mustFind(t, p); got.Path != r.Dir || got.Spelled != "" {
			t.Errorf("%q: %+v", p, got)
		}
	}
}

func TestVanished(t *testing.T) {
	dir := mkdir(t, filepath.Join(realTemp(t), "gone"))
	wantFault(t, dir+"/nothing", fault.NotFound, "does not exist")
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	wantFault(t, ".", fault.NotFound, "no longer exists")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	base := realTemp(t)
	bare := filepath.Join(base, "b.git")
	mkdir(t, bare)
	if out, err := exec.Command("git", "init", "-q", "--bare", bare).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	r := gittest.New(t)
	r.Write("a", "1").Commit("one")
	wt := filepath.Join(base, "wt")
	r.Git("worktree", "add", "-q", wt)
	loop := filepath.Join(base, "loop")
	symlink(t, "loop", loop)
	nowhere := mkdir(t, filepath.Join(base, "nowhere"))
	write(t, nowhere+"/.git", "gitdir: ../missing\n")
	garbage := mkdir(t, filepath.Join(base, "garbage"))
	write(t, garbage+"/.git", "hello\n")
	dangling := mkdir(t, filepath.Join(base, "dangling"))
	symlink(t, "nothing", dangling+"/.git")
	fifo := mkdir(t, filepath.Join(base, "fifo"))
	if err := syscall.Mkfifo(fifo+"/.git", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		code fault.Code
		text string
	}{
		{"/", fault.Invalid, "root directory"},
		{bare, fault.Invalid, "bare git repository"},
		{bare + "/refs", fault.Invalid, "worktree add"},
		{r.Dir + "/.git", fault.Invalid, "use the checkout it belongs to: " + r.Dir},
		{r.Dir + "/.git/refs/heads", fault.Invalid, "use the checkout it belongs to: " + r.Dir},
		{r.Dir + "/.git/worktrees/wt", fault.Invalid, "use the checkout it belongs to: " + wt},
		{loop, fault.Invalid, "goes round"},
		{nowhere, fault.Invalid, "not a git directory"},
		{garbage, fault.Invalid, "no git pointer"},
		{dangling, fault.Invalid, "leads nowhere"},
		{fifo, fault.Invalid, "neither a folder nor a file"},
		{"a\x00b", fault.Invalid, "not a path"},
	} {
		wantFault(t, c.path, c.code, c.text)
	}
}

// TestC28_PointerOfACopiedWorktree: the git folder of another checkout is never
// worked on.
func TestC28_PointerOfACopiedWorktree(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("a", "1").Commit("one")
	base := filepath.Dir(r.Dir)
	wt, other := filepath.Join(base, "wt"), filepath.Join(base, "copy")
	r.Git("worktree", "add", "-q", wt)
	mkdir(t, other)
	pointer, err := os.ReadFile(filepath.Join(wt, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, other+"/.git", string(pointer))
	wantFault(t, other, fault.Invalid, "worktree repair")
	mustFind(t, wt)
}

// TestC78_SpreadRepository: objects behind a link cannot be covered by a sandbox.
func TestC78_SpreadRepository(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("a", "1").Commit("one")
	away := filepath.Join(filepath.Dir(r.Dir), "objects")
	if err := os.Rename(filepath.Join(r.Dir, ".git/objects"), away); err != nil {
		t.Fatal(err)
	}
	symlink(t, away, filepath.Join(r.Dir, ".git/objects"))
	wantFault(t, r.Dir, fault.Unsupported, "spread over several places")
}

func TestBareWithPointer(t *testing.T) {
	t.Parallel()
	dir := realTemp(t)
	if out, err := exec.Command("git", "init", "-q", "--bare", dir+"/.bare").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	write(t, dir+"/.git", "gitdir: ./.bare\n")
	wantFault(t, dir, fault.Invalid, "bare git repository")
}

func TestEmptyGitFolderIsNothing(t *testing.T) {
	t.Parallel()
	dir := realTemp(t)
	mkdir(t, dir+"/.git")
	if got := mustFind(t, dir); got.Type != engine.TypeFSDirectory {
		t.Fatalf("%+v", got)
	}
}

func TestSearchStopsAboveHome(t *testing.T) {
	t.Parallel()
	r := gittest.New(t) // stands for the folder that holds homes
	home := mkdir(t, filepath.Join(r.Dir, "ann"))
	proj := mkdir(t, filepath.Join(home, "proj"))
	d := discover.New(gittest.Git(t), home)
	got, err := d.Discover(t.Context(), proj)
	if err != nil || got.Type != engine.TypeFSDirectory || got.Path != proj {
		t.Fatalf("%+v, %v", got, err)
	}
	if got := mustFind(t, proj); got.Path != r.Dir {
		t.Fatalf("without a home: %+v", got)
	}
}

func TestGitAbsent(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("a", "1").Commit("one")
	d := discover.New(gitx.New(gitx.Config{Path: "/nonexistent", Dir: t.TempDir()}), "")
	_, err := d.Discover(t.Context(), r.Dir)
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(fault.As(err).Hint, "install git") {
		t.Fatalf("a checkout without git: %v", err)
	}
	dir := realTemp(t)
	if got, err := d.Discover(t.Context(), dir); err != nil || got.Path != dir {
		t.Fatalf("a directory without git: %+v, %v", got, err)
	}
}

// TestV29_DiscoveryRunsNothing: looking at a hostile repository starts no program
// of its and writes nothing.
func TestV29_DiscoveryRunsNothing(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("a", "1").Commit("one")
	r.MakeHostile()
	before := snapshot(t, r.Dir)
	mustFind(t, r.Dir)
	if ran := r.Ran(); len(ran) > 0 {
		t.Fatalf("ran %s", ran)
	}
	if d := cmp.Diff(before, snapshot(t, r.Dir)); d != "" {
		t.Fatal(d)
	}
	_, _ = r.Try("status")
	if len(r.Ran()) == 0 {
		t.Fatal("the traps do not bite")
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read every directory")
	}
	dir := mkdir(t, filepath.Join(realTemp(t), "closed"))
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // to let the folder be removed
			t.Error(err)
		}
	})
	wantFault(t, dir+"/x", fault.Denied, "may not read")
}

// TestOtherOwner: a repository of another user is looked at without a blanket
// exception for it (C90).
func TestC90_OtherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a repository away")
	}
	r := gittest.New(t)
	head := r.Write("a", "1").Commit("one")
	err := filepath.Walk(r.Dir, func(p string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, 4300, 4300)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustFind(t, r.Dir); got.Git == nil || got.Git.Head != head {
		t.Fatalf("%+v", got)
	}
}

func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		m[p] = info.Mode().String() + info.ModTime().Format(time.RFC3339Nano)
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			m[p] += string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
