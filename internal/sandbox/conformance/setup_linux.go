package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// setup is a kind of resource, asked for in one way.
type setup struct {
	name  string
	git   bool
	lower engine.Lower
	dirty engine.Dirty
	crash bool                // worth dying in: the others differ in nothing that a crash would meet
	make  func(e *env) string // makes the real tree; returns its path
}

// setups are all kinds; which of them a strategy takes, its Probe says.
func setups() []setup {
	return []setup{
		{name: "directory", lower: engine.LowerLive, crash: true, make: makeDirectory},
		{name: "checkout/live", git: true, lower: engine.LowerLive, dirty: engine.DirtyCarry, make: makeCheckout},
		{name: "checkout/frozen", git: true, lower: engine.LowerFrozen, dirty: engine.DirtyCarry, crash: true, make: makeCheckout},
		{name: "worktree/live", git: true, lower: engine.LowerLive, dirty: engine.DirtyCarry, crash: true, make: makeLinked},
		{name: "worktree/frozen", git: true, lower: engine.LowerFrozen, dirty: engine.DirtyCarry, make: makeLinked},
	}
}

// env is one real tree and one state folder.
type env struct {
	t     *testing.T
	home  string // for git
	root  string // everything of this test
	state string
	git   *gitx.Git
	strat engine.Strategy
	mk    Maker
	set   setup
	res   engine.Resource
	n     int
}

func newEnv(t *testing.T, mk Maker, name engine.StrategyName, s setup) *env {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &env{t: t, root: root, home: filepath.Join(root, "home"), state: filepath.Join(root, "state"), mk: mk, set: s}
	for _, d := range []string{e.home, e.state, filepath.Join(e.state, "bases")} {
		e.must(os.MkdirAll(d, 0o700))
	}
	e.git = newGit(e.home)
	e.strat = pick(mk(e.git, nil), name)
	if e.strat == nil {
		t.Fatalf("no strategy %q", name)
	}
	path := s.make(e)
	e.res = engine.Resource{Name: filepath.Base(path), Type: engine.TypeFSDirectory, Path: path}
	if s.git {
		e.res.Type, e.res.Git = engine.TypeGitCheckout, e.gitInfo(path)
	}
	return e
}

// gitInfo asks git what discovery would find.
func (e *env) gitInfo(path string) *engine.GitInfo {
	ask := func(args ...string) string { return strings.TrimSuffix(e.gitCmd(path, args...), "\n") }
	return &engine.GitInfo{
		GitDir:    ask("rev-parse", "--absolute-git-dir"),
		CommonDir: ask("rev-parse", "--path-format=absolute", "--git-common-dir"),
		Head:      ask("rev-parse", "HEAD"),
		Branch:    ask("symbolic-ref", "HEAD"),
	}
}

func (e *env) must(err error) {
	e.t.Helper()
	Check(e.t, err)
}

// request asks for a further sandbox over the same tree.
func (e *env) request(confined bool) engine.CreateRequest {
	e.t.Helper()
	e.n++
	plan := "try-" + string(rune('a'+e.n%26)) + strings.Repeat("x", e.n/26) + "00"
	dir := filepath.Join(e.state, "plans", plan, "sandboxes", "s1")
	e.must(os.MkdirAll(dir, 0o700))
	return engine.CreateRequest{
		Plan: plan, ID: "s1", Dir: dir, BasesDir: filepath.Join(e.state, "bases"), Resource: e.res,
		Lower: e.set.lower, Dirty: e.set.dirty, Confined: confined, Now: time.Now(),
	}
}

// create makes a sandbox, or skips the test when the strategy cannot.
func (e *env) create(confined bool) (engine.CreateRequest, engine.Sandbox) {
	e.t.Helper()
	req := e.request(confined)
	e.probe(req)
	sb, err := e.strat.Create(e.t.Context(), req)
	e.must(err)
	return req, sb
}

func (e *env) probe(req engine.CreateRequest) {
	e.t.Helper()
	p, err := e.strat.Probe(e.t.Context(), req)
	e.must(err)
	if !p.OK {
		e.t.Skipf("%s does not take it: %s", e.strat.Name(), p.Reason)
	}
}

// probes is probe as a question.
func (e *env) probes(req engine.CreateRequest) bool {
	e.t.Helper()
	p, err := e.strat.Probe(e.t.Context(), req)
	e.must(err)
	return p.OK
}

func record(req engine.CreateRequest, sb engine.Sandbox) engine.SandboxRecord {
	r := sb.Info()
	r.ID, r.Plan, r.Resource, r.Dir, r.BasesDir, r.Confined = req.ID, req.Plan, req.Resource, req.Dir, req.BasesDir, req.Confined
	if r.Strategy == "" || r.Lower == "" {
		r.Lower, r.Dirty = req.Lower, req.Dirty
	}
	return r
}

// enter returns the mounts of the present state.
func (e *env) enter(sb engine.Sandbox) engine.Entrance {
	e.t.Helper()
	en, err := sb.Enter(e.t.Context())
	e.must(err)
	return en
}

func (e *env) snapshot(sb engine.Sandbox) Tree {
	e.t.Helper()
	t, err := Snapshot(e.enter(sb), e.set.git)
	e.must(err)
	return t
}

func (e *env) apply(sb engine.Sandbox, ops []Op) {
	e.t.Helper()
	e.must(Apply(e.enter(sb), ops))
}

// gitCmd runs git on the real repository.
func (e *env) gitCmd(dir string, args ...string) string {
	e.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TZ=UTC", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
		"GIT_AUTHOR_NAME=P", "GIT_AUTHOR_EMAIL=p@localhost", "GIT_COMMITTER_NAME=P", "GIT_COMMITTER_EMAIL=p@localhost",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// oddTree fills a directory with everything that a tree may hold.
func (e *env) oddTree(dir string) {
	e.t.Helper()
	write := func(path, data string, mode os.FileMode) {
		p := filepath.Join(dir, path)
		e.must(os.MkdirAll(filepath.Dir(p), 0o755))
		e.must(os.WriteFile(p, []byte(data), 0o644))
		e.must(os.Chmod(p, mode))
	}
	for _, f := range []struct {
		path, data string
		mode       os.FileMode
	}{
		{"plain.txt", "plain\n", 0o644},
		{"same.txt", "same size\n", 0o644},
		{"run.sh", "#!/bin/sh\necho run\n", 0o755},
		{"readonly", "ro\n", 0o444},
		{"dir/inner", "inner\n", 0o644},
		{"dir/deep/a/b/c", "c\n", 0o644},
		{"gone/one", "1\n", 0o644},
		{"gone/two", "2\n", 0o644},
		{"gone/sub/three", "3\n", 0o644},
		{"kind-file", "was a file\n", 0o644},
		{"kind-dir/f", "was in a directory\n", 0o644},
		{"with space", "s\n", 0o644},
		{"new\nline", "n\n", 0o644},
		{"tab\tand \"quotes\"", "q\n", 0o644},
		{"back\\slash", "b\n", 0o644},
		{"-dash", "d\n", 0o644},
		{"bad-\xff\xfe-utf8", "u\n", 0o644},
		{".wh.plain.txt", "an ordinary file\n", 0o644},
		{".wh..wh..opq", "an ordinary file too\n", 0o644},
		{"dir/.wh.inner", "another\n", 0o644},
		{"binary", "a\x00b\x01" + strings.Repeat("\xfe", 70_000), 0o644},
		{"moved", "content that moves away\n", 0o644},
		{"empty-file", "", 0o644},
		{"colon:comma,x", "c\n", 0o644},
	} {
		write(f.path, f.data, f.mode)
	}
	e.must(os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	e.must(os.Mkdir(filepath.Join(dir, "private"), 0o700))
	for _, l := range [][2]string{{"plain.txt", "link"}, {"/nowhere/at all", "dangling"}, {"dir", "dirlink"}, {"../up", "dir/uplink"}} {
		e.must(os.Symlink(l[0], filepath.Join(dir, l[1])))
	}
	write("hard1", "two names\n", 0o644)
	e.must(os.Link(filepath.Join(dir, "hard1"), filepath.Join(dir, "hard2")))
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	e.must(err)
	e.must(sparse.Truncate(3 << 20))
	_, err = sparse.WriteAt([]byte("end"), 3<<20-3)
	e.must(err)
	e.must(sparse.Close())
	if err := unix.Setxattr(filepath.Join(dir, "plain.txt"), "user.note", []byte("kept"), 0); err != nil {
		e.t.Logf("no user attributes on this file system: %v", err)
	}
}

func makeDirectory(e *env) string {
	dir := filepath.Join(e.root, "a resource")
	e.must(os.Mkdir(dir, 0o755))
	e.oddTree(dir)
	e.must(syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	return dir
}

// makeCheckout makes a repository with history, tags, branches, ignored files
// and uncommitted work of every kind.
func makeCheckout(e *env) string {
	dir := filepath.Join(e.root, "repo")
	e.must(os.Mkdir(dir, 0o755))
	e.gitCmd(dir, "init", "-q", "-b", "main")
	e.gitCmd(dir, "config", "user.name", "Person")
	e.gitCmd(dir, "config", "user.email", "person@localhost")
	e.oddTree(dir)
	e.must(os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n/build/\n"), 0o644))
	e.gitCmd(dir, "add", "-A")
	e.gitCmd(dir, "commit", "-q", "-m", "one")
	e.gitCmd(dir, "tag", "-a", "-m", "first", "v1")
	e.gitCmd(dir, "branch", "other")
	e.must(os.WriteFile(filepath.Join(dir, "second"), []byte("2\n"), 0o644))
	e.gitCmd(dir, "add", "-A")
	e.gitCmd(dir, "commit", "-q", "-m", "two")
	e.gitCmd(dir, "pack-refs", "--all")
	e.gitCmd(dir, "branch", "loose")
	e.dirty(dir)
	return dir
}

// dirty leaves uncommitted work in a checkout.
func (e *env) dirty(dir string) {
	e.must(os.WriteFile(filepath.Join(dir, "second"), []byte("2, edited\n"), 0o644))
	e.must(os.WriteFile(filepath.Join(dir, "staged"), []byte("staged\n"), 0o644))
	e.gitCmd(dir, "add", "staged")
	e.must(os.WriteFile(filepath.Join(dir, "dir/untracked"), []byte("untracked\n"), 0o644))
	e.must(os.Remove(filepath.Join(dir, "dir/deep/a/b/c")))
	e.must(os.MkdirAll(filepath.Join(dir, "build/out"), 0o755))
	e.must(os.WriteFile(filepath.Join(dir, "build/out/x.o"), []byte("object\n"), 0o644))
	e.must(os.WriteFile(filepath.Join(dir, "dir/trace.log"), []byte("log\n"), 0o644))
}

// makeLinked makes a linked worktree of another repository.
func makeLinked(e *env) string {
	main := makeCheckout(e)
	dir := filepath.Join(e.root, "linked")
	e.gitCmd(main, "worktree", "add", "-q", "-b", "side", dir)
	e.dirty(dir)
	return dir
}

// real describes the whole real resource, its repository and everything that
// git says about it.
type real struct {
	tree, common Tree
	status       string
}

func (e *env) real() real {
	e.t.Helper()
	var r real
	var err error
	r.tree, err = ReadTree(e.res.Path, false)
	e.must(err)
	if g := e.res.Git; g != nil {
		r.common, err = ReadTree(g.CommonDir, false)
		e.must(err)
		for _, args := range [][]string{
			{"status", "--porcelain=v2", "--branch", "--ignored"}, {"for-each-ref"}, {"stash", "list"}, {"worktree", "list"}, {"config", "--list", "--local"},
		} {
			r.status += e.gitCmd(e.res.Path, args...)
		}
	}
	return r
}

// unchanged fails the test unless the real resource is bit for bit what it was.
func (e *env) unchanged(was real) {
	e.t.Helper()
	is := e.real()
	for _, d := range diffTrees(was.tree, is.tree) {
		e.t.Errorf("the real tree changed: %s %q", d.Op, d.Path)
	}
	for _, d := range diffTrees(was.common, is.common) {
		e.t.Errorf("the real repository changed: %s %q", d.Op, d.Path)
	}
	if was.status != is.status {
		e.t.Errorf("git says otherwise:\nbefore\n%s\nafter\n%s", was.status, is.status)
	}
}

// ownAdmin reports whether a strategy is allowed to keep an administrative
// directory and a branch in the real repository while a sandbox lives.
func (e *env) ownAdmin() bool { return e.strat.Name() == engine.StrategyGitWorktree }

// empty fails the test unless a sandbox's folder is empty.
func (e *env) empty(dir string) {
	e.t.Helper()
	d, err := fsop.OpenRoot(dir)
	if fault.Is(err, fault.NotFound) {
		return
	}
	e.must(err)
	defer d.Close()
	entries, err := d.ReadDir(".")
	e.must(err)
	for _, x := range entries {
		e.t.Errorf("destroy left %s", x.Name)
	}
}
