package copytree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

func TestMain(m *testing.M) {
	if os.Getenv("COPYTREE_CHILD") != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// both are the two names of the strategy.
var both = []engine.StrategyName{engine.StrategyCopyOnWrite, engine.StrategyFilesystemCopy}

// scene is a resource and a folder for a sandbox.
type scene struct {
	t     testing.TB
	base  string
	src   string
	req   engine.CreateRequest
	strat *Strategy
}

func newScene(t testing.TB) *scene {
	t.Helper()
	base := t.TempDir()
	// Trees of the tests hold directories that their owner cannot remove.
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", base).Run() })
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, base: base, src: base + "/src"}
	for _, d := range []string{s.src, base + "/state/s1"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.strat = New(engine.StrategyCopyOnWrite, s.options())
	s.req = engine.CreateRequest{
		Plan: "p1", ID: "s1", Dir: base + "/state/s1", BasesDir: base + "/state/bases", Lower: engine.LowerLive,
		Resource: engine.Resource{Name: "src", Type: engine.TypeFSDirectory, Path: s.src},
		Now:      time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
	}
	return s
}

func (s *scene) options() Options {
	return Options{Git: gitx.New(gitx.Config{Path: os.Getenv("PATH"), Home: s.base, Dir: s.base + "/state/git"})}
}

func (s *scene) create() *Sandbox {
	s.t.Helper()
	sb, err := s.strat.Create(s.t.Context(), s.req)
	if err != nil {
		s.t.Fatal(err)
	}
	out, ok := sb.(*Sandbox)
	if !ok {
		s.t.Fatalf("%T", sb)
	}
	return out
}

// again attaches as another process would: with nothing but the record.
func (s *scene) again() *Sandbox {
	s.t.Helper()
	sb, err := New(s.strat.name, s.options()).Attach(s.t.Context(), engine.SandboxRecord{
		ID: "s1", Plan: "p1", Resource: s.req.Resource, Dir: s.req.Dir, BasesDir: s.req.BasesDir,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	out, ok := sb.(*Sandbox)
	if !ok {
		s.t.Fatalf("%T", sb)
	}
	return out
}

func (s *scene) tree() string { return s.req.Dir + "/" + treeDir }

// sh runs a shell script in a folder.
func (s *scene) sh(dir, script string) string {
	s.t.Helper()
	c := exec.Command("bash", "-ec", script)
	c.Dir = dir
	c.Env = append(cleanEnv(), "HOME="+s.base, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return string(out)
}

func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
}

func (s *scene) git() {
	s.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		s.t.Skip("git is not installed")
	}
	s.sh(s.src, `git init -q -b main . && echo one > one && mkdir d && echo two > d/two && printf '%s\n' '*.log' build/ > .gitignore &&
		git add -A && git commit -qm first && echo more >> one && git commit -qam second && git tag -a -m t v1 && git branch other`)
	s.gitResource(s.src, s.src+"/.git", s.src+"/.git")
}

func (s *scene) gitResource(path, gitDir, common string) {
	s.t.Helper()
	s.req.Resource = engine.Resource{Name: "src", Type: engine.TypeGitCheckout, Path: path, Git: &engine.GitInfo{
		GitDir: gitDir, CommonDir: common, Head: strings.TrimSpace(s.sh(path, "git rev-parse HEAD")), Branch: "refs/heads/main",
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code fault.Code, mentions ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("want code %s, got %s: %v", code, fault.CodeOf(err), err)
	}
	for _, m := range mentions {
		if !strings.Contains(fmt.Sprint(err, fault.As(err).Paths, fault.As(err).Hint), m) {
			t.Errorf("%q does not mention %q", err, m)
		}
	}
}

// shape renders everything about a tree that a state must bring back.
func shape(t testing.TB, root string) string {
	t.Helper()
	var lines []string
	inos := map[uint64]string{}
	err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, p)
		if rerr != nil {
			return rerr
		}
		if err != nil {
			lines = append(lines, fmt.Sprintf("%q unlistable", rel))
			return fs.SkipDir
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); errors.Is(err, unix.EACCES) {
			lines = append(lines, fmt.Sprintf("%q shut", rel))
			return nil
		} else if err != nil {
			return err
		}
		line := fmt.Sprintf("%q %o %d:%d", rel, st.Mode, st.Uid, st.Gid)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			b, err := os.ReadFile(p)
			if err != nil {
				b = []byte("unreadable")
			}
			line += fmt.Sprintf(" %d.%d %q", st.Mtim.Sec, st.Mtim.Nsec, b)
			if st.Nlink > 1 {
				if inos[st.Ino] == "" {
					inos[st.Ino] = rel
				}
				line += fmt.Sprintf(" as %q of %d", inos[st.Ino], st.Nlink)
			}
		case unix.S_IFLNK:
			text, err := os.Readlink(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" -> %q", text)
		case unix.S_IFCHR, unix.S_IFBLK:
			line += fmt.Sprintf(" dev %d", st.Rdev)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			line += " " + strings.Join(xattrs(p), ",")
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func xattrs(p string) []string {
	buf := make([]byte, 64<<10)
	n, err := unix.Llistxattr(p, buf)
	if err != nil || n == 0 {
		return nil
	}
	var out []string
	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:n]), "\x00"), "\x00") {
		v := make([]byte, 64<<10)
		k, err := unix.Lgetxattr(p, name, v)
		if err == nil {
			out = append(out, fmt.Sprintf("%s=%q", name, v[:k]))
		}
	}
	sort.Strings(out)
	return out
}

func sameShape(t testing.TB, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for _, l := range g {
		if !slices.Contains(w, l) {
			t.Errorf("is     %s", l)
		}
	}
	for _, l := range w {
		if !slices.Contains(g, l) {
			t.Errorf("should %s", l)
		}
	}
	t.FailNow()
}

func changes(t testing.TB, sb engine.Sandbox, from, to string) (*changeset.Set, changeset.Source) {
	t.Helper()
	set, src, err := sb.Changes(t.Context(), from, to, engine.ChangeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := src.(io.Closer); ok {
		t.Cleanup(func() { _ = c.Close() })
	}
	return set, src
}

func list(set *changeset.Set) string {
	var out []string
	for _, c := range set.Changes {
		s := string(c.Op) + " " + c.Path
		if c.From != "" {
			s += " from " + c.From
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func skips(set *changeset.Set) string {
	var out []string
	for _, s := range set.Skipped {
		out = append(out, s.Path+": "+s.Reason)
	}
	return strings.Join(out, "\n")
}

func contents(src changeset.Source, side changeset.Side, path string) (string, error) {
	r, err := src.Open(side, path)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	return string(b), errors.Join(err, r.Close())
}

func wantContents(t testing.TB, src changeset.Source, side changeset.Side, path, want string) {
	t.Helper()
	got, err := contents(src, side, path)
	if err != nil || got != want {
		t.Errorf("%v %s: %q, %v; want %q", side, path, got, err, want)
	}
}

func write(t testing.TB, path, data string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(data), 0o644))
}

// variety makes a tree with one of everything.
func (s *scene) variety(dir string) {
	s.t.Helper()
	s.sh(dir, `
		mkdir -p a/b/c empty 'sp ace' shut && chmod 0750 a && chmod 0700 empty
		echo hello > a/file && chmod 0640 a/file
		printf '\000\001\377bin' > a/b/bin && chmod 0755 a/b/bin
		echo run > a/run.sh && chmod 4755 a/run.sh
		ln -s file a/link && ln -s /nonexistent/x a/dangling && ln -s ../../.. a/b/up && ln -s b a/dirlink
		echo pair > p1 && ln p1 a/p2 && ln p1 'sp ace/p3'
		: > nothing
		echo odd > "sp ace/new
line" && echo x > $'\xff\xfe' && echo wh > .wh.x
		truncate -s 3M sparse && printf data | dd of=sparse bs=1 seek=1M conv=notrunc status=none
		echo ro > ro && chmod 0444 ro
		echo in > shut/in && chmod 0500 shut
		touch -d '2001-02-03 04:05:06.789' a/file a/b empty
	`)
	if err := unix.Lsetxattr(dir+"/a/file", "user.note", []byte("x\x00y"), 0); err == nil {
		must(s.t, unix.Lsetxattr(dir+"/a", "user.dir", []byte("d"), 0))
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// child is what this test binary does when a test starts it to be killed.
func child() int {
	ctx := context.Background()
	var buf bytes.Buffer
	err := func() error {
		base := os.Getenv("COPYTREE_BASE")
		t := &scene{base: base, src: base + "/src"}
		opts := t.options()
		if n, err := strconv.ParseInt(os.Getenv("COPYTREE_DIE"), 10, 64); err == nil && n > 0 {
			opts.Intercept = dieAt(n)
		}
		strat := New(engine.StrategyCopyOnWrite, opts)
		req := engine.CreateRequest{
			Plan: "p1", ID: "s1", Dir: base + "/state/s1", Lower: engine.LowerLive,
			Resource: engine.Resource{Name: "src", Type: engine.TypeFSDirectory, Path: base + "/src"}, Now: time.Now(),
		}
		if os.Getenv("COPYTREE_GIT") != "" {
			req.Resource.Type, req.Resource.Git = engine.TypeGitCheckout, &engine.GitInfo{GitDir: base + "/src/.git", CommonDir: base + "/src/.git"}
		}
		// Only now the parent starts to count.
		fmt.Println("go")
		switch role := os.Getenv("COPYTREE_CHILD"); role {
		case "create":
			_, err := strat.Create(ctx, req)
			return err
		case "checkpoint", "restore":
			sb, err := strat.Attach(ctx, engine.SandboxRecord{ID: "s1", Plan: "p1", Resource: req.Resource, Dir: req.Dir})
			if err != nil {
				return err
			}
			if role == "restore" {
				return sb.Restore(ctx, os.Getenv("COPYTREE_NAME"))
			}
			return sb.Checkpoint(ctx, os.Getenv("COPYTREE_NAME"))
		case "nofile":
			must := func(err error) {
				if err != nil {
					panic(err)
				}
			}
			must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 48, Max: 48}))
			sb, err := strat.Create(ctx, req)
			if err != nil {
				return err
			}
			must(sb.Checkpoint(ctx, "one"))
			tree, err := fsop.OpenRoot(req.Dir + "/" + treeDir)
			must(err)
			must(errors.Join(tree.RemoveAll("d0"), tree.Close()))
			must(sb.Restore(ctx, "one"))
			set, _, err := sb.Changes(ctx, engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
			if err == nil && len(set.Changes) > 0 {
				err = fmt.Errorf("%d changes", len(set.Changes))
			}
			return err
		}
		return errors.New("no such role")
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err, buf.String())
		return 1
	}
	return 0
}

func spawn(t testing.TB, s *scene, role string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	c := exec.Command(exe)
	c.Env = append(cleanEnv(), append(env, "COPYTREE_CHILD="+role, "COPYTREE_BASE="+s.base)...)
	if s.req.Resource.Git != nil {
		c.Env = append(c.Env, "COPYTREE_GIT=1")
	}
	return c
}
