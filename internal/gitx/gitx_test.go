package gitx_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

func plain(t *testing.T, r *gitx.Repo) *gitx.Repo {
	t.Helper()
	p, err := r.Plain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNoGitIsUnavailable(t *testing.T) {
	t.Parallel()
	g := gitx.New(gitx.Config{Path: "relative:" + t.TempDir(), Dir: t.TempDir()})
	_, err := g.Version(t.Context())
	if !fault.Is(err, fault.Unavailable) || fault.As(err).Hint == "" {
		t.Fatalf("want unavailable with a hint, got %v", err)
	}
}

func TestOldGitIsUnsupported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho git version 2.30.2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	g := gitx.New(gitx.Config{Path: dir, Dir: t.TempDir()})
	_, err := g.Version(t.Context())
	if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "2.30.2") {
		t.Fatalf("want unsupported naming the version, got %v", err)
	}
}

func TestRelativePathEntryIsNotSearched(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho git version 9.9.9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if _, err := gitx.New(gitx.Config{Path: ".:", Dir: dir}).Version(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("a git in the working directory was taken: %v", err)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t)
	repo := r.Open(g)
	h, err := repo.Head(t.Context())
	if err != nil || h != (gitx.Head{Branch: "refs/heads/main"}) {
		t.Fatalf("unborn: %+v, %v", h, err)
	}
	c := r.Write("a", "1").Commit("one")
	if h, err = repo.Head(t.Context()); err != nil || h != (gitx.Head{Commit: c, Branch: "refs/heads/main"}) {
		t.Fatalf("on a branch: %+v, %v", h, err)
	}
	r.Git("checkout", "-q", "--detach")
	if h, err = repo.Head(t.Context()); err != nil || h != (gitx.Head{Commit: c}) {
		t.Fatalf("detached: %+v, %v", h, err)
	}
}

// TestC29_InheritedGitVariables: what the caller's environment says about git
// reaches no git of ours.
func TestC29_InheritedGitVariables(t *testing.T) {
	g := gittest.Git(t)
	mine, other := gittest.New(t), gittest.New(t)
	want := mine.Write("a", "1").Commit("mine")
	other.Write("b", "2").Commit("other")
	t.Setenv("GIT_DIR", filepath.Join(other.Dir, ".git"))
	t.Setenv("GIT_WORK_TREE", other.Dir)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.Dir, ".git/index"))
	t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other.Dir, ".git/objects"))
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.bare")
	t.Setenv("GIT_CONFIG_VALUE_0", "true")
	repo, err := g.Repo(gitx.Location{GitDir: filepath.Join(mine.Dir, ".git"), WorkTree: mine.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := repo.Head(t.Context()); err != nil || h.Commit != want {
		t.Fatalf("HEAD %+v, %v; want %s", h, err, want)
	}
	files, err := plain(t, repo).IndexEntries(t.Context())
	if err != nil || len(files) != 1 || files[0].Path != "a" {
		t.Fatalf("index %+v, %v", files, err)
	}
}

// TestV33_ValuesAreNotOptions: data that looks like an option is refused.
func TestV33_ValuesAreNotOptions(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t)
	r.Write("a", "1").Commit("one")
	p := plain(t, r.Open(g))
	for _, bad := range []string{"", "-x", "--output=/tmp/x", "a\nb", "a\x00b"} {
		if _, err := p.Resolve(t.Context(), bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: want invalid, got %v", bad, err)
		}
		if _, err := p.Run(t.Context(), gitx.Opts{Values: []string{bad}}, "rev-list"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q as a value: want invalid, got %v", bad, err)
		}
	}
	if _, err := p.Run(t.Context(), gitx.Opts{Env: []string{"GIT_DIR=/"}}, "rev-parse"); !fault.Is(err, fault.Internal) {
		t.Errorf("a variable of the caller was taken: %v", err)
	}
}

func TestOnlyListedCommandsRun(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	repo := gittest.New(t).Open(g)
	p := plain(t, repo)
	for _, c := range []string{"status", "diff", "add", "commit", "checkout", "gc", "fetch", "ls-files", "config"} {
		if _, err := repo.Run(t.Context(), gitx.Opts{}, c); !fault.Is(err, fault.Internal) {
			t.Errorf("git %s ran on a real git directory: %v", c, err)
		}
	}
	for _, c := range []string{"status", "diff", "add", "commit", "checkout", "update-ref", "worktree", "config"} {
		if _, err := p.Run(t.Context(), gitx.Opts{}, c); !fault.Is(err, fault.Internal) {
			t.Errorf("git %s ran in a plain view: %v", c, err)
		}
	}
}

func TestPathsAreLiteral(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t)
	r.Write("*.txt", "star", "a.txt", "a", ":(glob)x", "x", "-d", "dash").Commit("one")
	p := plain(t, r.Open(g))
	for _, path := range []string{"*.txt", ":(glob)x", "-d"} {
		list, err := p.IndexEntries(t.Context(), path)
		if err != nil || len(list) != 1 || list[0].Path != path {
			t.Errorf("%q: %+v, %v", path, list, err)
		}
	}
}

func TestCancelKillsGit(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	p := plain(t, gittest.New(t).Open(g))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	started := make(chan struct{})
	go func() {
		<-started
		cancel(why)
	}()
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pw.Close() //nolint:errcheck // kept open so that git waits for more
	defer pr.Close() //nolint:errcheck // read end
	close(started)
	begin := time.Now()
	_, err = p.Run(ctx, gitx.Opts{Stdin: pr}, "cat-file", "--batch")
	if !errors.Is(err, why) && !fault.Is(err, fault.Canceled) {
		t.Fatalf("want the cause, got %v", err)
	}
	if d := time.Since(begin); d > 4*time.Second {
		t.Fatalf("git was not killed: %v", d)
	}
}

// TestC124_ErrorNamesStepAndStderr.
func TestC124_ErrorNamesStepAndStderr(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	p := plain(t, gittest.New(t).Open(g))
	_, err := p.Tree(t.Context(), "nosuch")
	var exit *gitx.ExitError
	if !errors.As(err, &exit) || exit.Code != 128 || !strings.Contains(err.Error(), "git ls-tree: exit 128") || !strings.Contains(err.Error(), "nosuch") {
		t.Fatalf("got %v", err)
	}
}

func TestRefsAndTransactions(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t)
	one := r.Write("a", "1").Commit("one")
	two := r.Write("a", "2").Commit("two")
	r.Git("tag", "-a", "-m", "t", "v1", one)
	r.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	repo := r.Open(g)
	ctx := t.Context()

	if err := repo.UpdateRefs(ctx, "test", gitx.RefChange{Name: "refs/ambit/x", New: one}, gitx.RefChange{Name: "refs/heads/main", New: one, Old: one}); !fault.Is(err, fault.Conflict) {
		t.Fatalf("want conflict, got %v", err)
	}
	if v, err := repo.RefValue(ctx, "refs/ambit/x"); err != nil || v != "" {
		t.Fatalf("a part of a refused transaction was carried out: %q, %v", v, err)
	}
	if err := repo.UpdateRefs(ctx, "test", gitx.RefChange{Name: "refs/ambit/x", New: one}); err != nil {
		t.Fatal(err)
	}
	if err := repo.UpdateRefs(ctx, "test", gitx.RefChange{Name: "refs/ambit/x", New: two}); !fault.Is(err, fault.Conflict) {
		t.Fatalf("creating a reference that exists: want conflict, got %v", err)
	}
	refs, err := repo.Refs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tag := r.Git("rev-parse", "v1")
	want := []gitx.Ref{
		{Name: "refs/ambit/x", Object: one},
		{Name: "refs/heads/alias", Object: two, Target: "refs/heads/main"},
		{Name: "refs/heads/main", Object: two},
		{Name: "refs/tags/v1", Object: tag, Peeled: one},
	}
	if d := cmp.Diff(want, refs); d != "" {
		t.Fatal(d)
	}
	// What PackedRefs writes must be what git reads.
	if err := os.WriteFile(filepath.Join(r.Dir, ".git/packed-refs"), []byte(gitx.PackedRefs(refs)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.Dir, ".git/refs/tags")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.Dir, ".git/refs/tags"), 0o755); err != nil {
		t.Fatal(err)
	}
	again, err := repo.Refs(ctx)
	if err != nil || !cmp.Equal(want, again) {
		t.Fatalf("%v %s", err, cmp.Diff(want, again))
	}
	if err := repo.UpdateRefs(ctx, "test", gitx.RefChange{Name: "refs/ambit/x", Old: one}); err != nil {
		t.Fatal(err)
	}
	if v, err := repo.RefValue(ctx, "refs/ambit/x"); err != nil || v != "" {
		t.Fatalf("deleted reference: %q, %v", v, err)
	}
	for name, ok := range map[string]bool{"fix/login": true, "ambit/p-1": true, "HEAD": false, "-x": false, "a..b": false, "refs/heads/x": false, "x.lock": false, "a b": false, "": false, "@": false} {
		_, err := repo.CheckBranch(ctx, name)
		if (err == nil) != ok || (err != nil && !fault.Is(err, fault.Invalid)) {
			t.Errorf("branch %q: %v", name, err)
		}
	}
}

func TestDirty(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t)
	r.Write("keep", "k", "mod", "m", "gone", "g", "staged", "s", "exec", "x", "touched", "t", ".gitignore", "*.log\nbuild/\n", "own.txt", "o").Commit("one")
	r.Write("mod", "M", "staged", "S", "new file", "n", "x.log", "ignored", "build/out", "b", "both", "b")
	r.Git("add", "staged", "both")
	r.Write("both", "B")
	for _, err := range []error{
		os.Remove(filepath.Join(r.Dir, "gone")),
		os.Chmod(filepath.Join(r.Dir, "exec"), 0o755),
		os.Chtimes(filepath.Join(r.Dir, "touched"), time.Unix(1e9, 0), time.Unix(1e9, 0)),
		os.WriteFile(filepath.Join(r.Dir, ".git/info/exclude"), []byte("secret\n"), 0o644),
		os.WriteFile(filepath.Join(r.Dir, "secret"), []byte("x"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p := plain(t, r.Open(g))
	before, err := os.ReadFile(filepath.Join(r.Dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Dirty(t.Context(), r.Git("rev-parse", "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(d.Modified)
	var staged []string
	for _, s := range d.Staged {
		staged = append(staged, string(s.Status)+" "+s.Path)
	}
	got := map[string][]string{"staged": staged, "modified": d.Modified, "deleted": d.Deleted, "untracked": d.Untracked}
	want := map[string][]string{
		"staged":    {"A both", "M staged"},
		"modified":  {"both", "exec", "gone", "mod"},
		"deleted":   {"gone"},
		"untracked": {"new file"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	ignored, err := p.Ignored(t.Context())
	slices.Sort(ignored)
	if want := []string{"build/", "secret", "x.log"}; err != nil || !slices.Equal(ignored, want) {
		t.Errorf("ignored %q, %v; want %q", ignored, err, want)
	}
	after, err := os.ReadFile(filepath.Join(r.Dir, ".git/index"))
	if err != nil || string(before) != string(after) {
		t.Errorf("the person's index was written (%v)", err)
	}
}

func TestDirtyBeforeFirstCommit(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t).Write("a", "1", "b", "2")
	r.Git("add", "a")
	d, err := plain(t, r.Open(g)).Dirty(t.Context(), "")
	if err != nil || len(d.Staged) != 1 || d.Staged[0].Path != "a" || !slices.Equal(d.Untracked, []string{"b"}) {
		t.Fatalf("%+v, %v", d, err)
	}
}

func TestDirtyKeepsSettingsThatMatter(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t).Write("a", "1")
	r.Commit("one")
	r.Git("config", "core.fileMode", "false")
	if err := os.Chmod(filepath.Join(r.Dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := plain(t, r.Open(g)).Dirty(t.Context(), r.Git("rev-parse", "HEAD"))
	if err != nil || !d.Clean() {
		t.Fatalf("core.fileMode=false was not honoured: %+v, %v", d, err)
	}
}

func TestFillEqualsCheckout(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t)
	r.Write("a b/c", "1", ".gitattributes", "*.txt text eol=crlf\n", "x.txt", "l1\nl2\n", "run", "#!/bin/sh\n")
	if err := os.Symlink("a b/c", filepath.Join(r.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(r.Dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := r.Commit("one")
	dest := t.TempDir()
	index := filepath.Join(t.TempDir(), "index")
	p := plain(t, r.Open(g)).WithWorkTree(dest).WithIndex(index)
	if err := p.Fill(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a b/c": "1", "x.txt": "l1\r\nl2\r\n", "run": "#!/bin/sh\n", "link": "1"} {
		if got, err := os.ReadFile(filepath.Join(dest, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dest, "run")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("run: %v, %v", info, err)
	}
	d, err := p.Dirty(t.Context(), c)
	if err != nil || !d.Clean() {
		t.Fatalf("a fresh checkout is dirty: %+v, %v", d, err)
	}
}

// TestC25_C26_FilterMissing: a checkout never needs a filter program; files that
// wanted one are named.
func TestC25_C26_FilterMissing(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t).Write("big.bin", "pointer text", "small", "s", ".gitattributes", "*.bin filter=lfs diff=lfs -text\n")
	c := r.Commit("one")
	r.Git("config", "filter.lfs.smudge", "git-lfs-that-is-not-there %f")
	r.Git("config", "filter.lfs.required", "true")
	dest := t.TempDir()
	p := plain(t, r.Open(g)).WithWorkTree(dest).WithIndex(filepath.Join(t.TempDir(), "index"))
	if err := p.Fill(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	l, err := p.Leftovers(t.Context())
	if err != nil || !cmp.Equal(l.Filtered, map[string][]string{"lfs": {"big.bin"}}) {
		t.Fatalf("%+v, %v", l, err)
	}
	if got, err := os.ReadFile(filepath.Join(dest, "big.bin")); err != nil || string(got) != "pointer text" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	g := gitx.New(gitx.Config{Path: os.Getenv("PATH"), Home: home, Dir: filepath.Join(home, "g")})
	r := gittest.New(t)
	r.Git("config", "--unset", "user.name")
	r.Git("config", "--unset", "user.email")
	if _, ok, err := r.Open(g).Identity(t.Context()); ok || err != nil {
		t.Fatalf("nobody: %v, %v", ok, err)
	}
	if err := os.WriteFile(filepath.Join(home, "work.cfg"), []byte("[user]\n\temail = ann@work\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ann <A>\n\temail = ann@home\n[include]\n\tpath = ~/work.cfg\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	id, ok, err := r.Open(g).Identity(t.Context())
	if err != nil || !ok || id != (gitx.Identity{Name: "Ann A", Email: "ann@work"}) {
		t.Fatalf("%+v, %v, %v", id, ok, err)
	}
	r.Git("config", "user.email", "ann@repo")
	if id, _, err = r.Open(g).Identity(t.Context()); err != nil || id.Email != "ann@repo" {
		t.Fatalf("%+v, %v", id, err)
	}
}

func TestSHA256Repository(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t, "--object-format=sha256")
	c := r.Write("a", "1").Commit("one")
	r.Write("a", "2")
	p := plain(t, r.Open(g))
	if f, err := p.Format(t.Context()); err != nil || f != "sha256" || len(c) != 64 {
		t.Fatalf("%q %q %v", f, c, err)
	}
	d, err := p.Dirty(t.Context(), c)
	if err != nil || !slices.Equal(d.Modified, []string{"a"}) {
		t.Fatalf("%+v, %v", d, err)
	}
	if _, data, err := p.ReadObject(t.Context(), c+":a", 10); err != nil || string(data) != "1" {
		t.Fatalf("%q, %v", data, err)
	}
	for _, want := range []string{"", "x"} {
		if got := gitx.BlobID("sha256", []byte(want)); got == "" || len(got) != 64 {
			t.Fatal(got)
		}
	}
}

func TestEachZStopsEarly(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t)
	for i := range 300 {
		r.Write(strings.Repeat("d/", 20)+strings.Repeat("x", i%200+1)+string(rune('a'+i%26)), "1")
	}
	r.Commit("many")
	p := plain(t, r.Open(g))
	stop := errors.New("stop")
	n := 0
	err := p.EachZ(t.Context(), gitx.Opts{}, func(string) error {
		n++
		return stop
	}, "ls-files", "-z")
	if !errors.Is(err, stop) || n != 1 {
		t.Fatalf("%d records, %v", n, err)
	}
}

// TestC134_ExcludesOfALinkedWorktree: info/exclude counts through the common
// directory, and a huge untracked file costs nothing to list.
func TestC134_ExcludesOfALinkedWorktree(t *testing.T) {
	t.Parallel()
	g := gittest.Git(t)
	r := gittest.New(t)
	r.Write("a", "1").Commit("one")
	dir := filepath.Join(t.TempDir(), "wt")
	r.Git("worktree", "add", "-q", dir)
	if err := os.WriteFile(filepath.Join(r.Dir, ".git/info/exclude"), []byte("private\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wt := r.At(dir).Write("private", "x", "seen", "y")
	if err := os.Truncate(filepath.Join(dir, "seen"), 1<<40); err != nil {
		t.Skipf("no sparse file of 1 TiB here: %v", err)
	}
	p := plain(t, wt.Open(g))
	d, err := p.Dirty(t.Context(), r.Git("rev-parse", "HEAD"))
	if err != nil || !slices.Equal(d.Untracked, []string{"seen"}) {
		t.Fatalf("%+v %v", d, err)
	}
	if got, err := p.Ignored(t.Context()); err != nil || !slices.Equal(got, []string{"private"}) {
		t.Fatalf("%q %v", got, err)
	}
}
