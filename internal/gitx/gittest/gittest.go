// Package gittest makes real git repositories for tests.
//
// Contract: a Repo lives in the test's own temporary folder, has an identity and
// a fixed clock, and is worked on with the machine's git, without the person's
// configuration. Hostile adds every piece of configuration by which a repository
// can make git run a program; each leaves a marker that Ran reports.
package gittest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/internal/gitx"
)

// Repo is one checkout.
type Repo struct {
	tb      testing.TB
	Dir     string
	Markers string // folder in which a hostile program leaves its name
}

// Git returns a gitx.Git whose private folders lie in the test's temporary one.
func Git(tb testing.TB) *gitx.Git {
	tb.Helper()
	home := tb.TempDir()
	return gitx.New(gitx.Config{Path: os.Getenv("PATH"), Home: home, Dir: filepath.Join(home, "ambit-git")})
}

// New makes an empty checkout on branch main.
func New(tb testing.TB, args ...string) *Repo {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	r := &Repo{tb: tb, Dir: filepath.Join(dir, "repo"), Markers: filepath.Join(dir, "markers")}
	for _, d := range []string{r.Dir, r.Markers} {
		if err := os.Mkdir(d, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	r.Git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	r.identify()
	return r
}

// At returns a Repo for a checkout that exists, such as a linked worktree.
func (r *Repo) At(dir string) *Repo { return &Repo{tb: r.tb, Dir: dir, Markers: r.Markers} }

func (r *Repo) identify() {
	r.Git("config", "user.name", "Test Person")
	r.Git("config", "user.email", "test@example.com")
}

// Env is the environment that tests run git in: nothing of the person's.
func Env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
		"GIT_ALLOW_PROTOCOL=file",
	}
}

// Git runs git in the checkout and returns its output without surrounding space.
func (r *Repo) Git(args ...string) string {
	r.tb.Helper()
	out, err := r.Try(args...)
	if err != nil {
		r.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Try is Git for commands that may fail; the output holds both streams then.
func (r *Repo) Try(args ...string) (string, error) {
	cmd := exec.Command("git", args...) //nolint:noctx // a test's own git
	cmd.Dir = r.Dir
	cmd.Env = Env()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out) + stderr.String(), err
	}
	return strings.TrimSpace(string(out)), nil
}

// Write creates files; the arguments are path, contents, path, contents...
func (r *Repo) Write(pairs ...string) *Repo {
	r.tb.Helper()
	for i := 0; i < len(pairs); i += 2 {
		p := filepath.Join(r.Dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			r.tb.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(pairs[i+1]), 0o644); err != nil {
			r.tb.Fatal(err)
		}
	}
	return r
}

// Read returns a file's contents, or "<none>".
func (r *Repo) Read(path string) string {
	r.tb.Helper()
	b, err := os.ReadFile(filepath.Join(r.Dir, path))
	if err != nil {
		return "<none>"
	}
	return string(b)
}

// Commit stages everything and commits it; it returns the commit.
func (r *Repo) Commit(msg string) string {
	r.tb.Helper()
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", msg)
	return r.Git("rev-parse", "HEAD")
}

// Fsck fails the test if git finds the repository damaged.
func (r *Repo) Fsck() {
	r.tb.Helper()
	r.Git("fsck", "--full", "--strict", "--no-dangling")
}

// State describes everything of the repository that must not change by accident:
// HEAD, references with their logs, index, configuration, status.
func (r *Repo) State() string {
	r.tb.Helper()
	var b strings.Builder
	head, err := os.ReadFile(r.gitPath("HEAD"))
	if err != nil {
		r.tb.Fatal(err)
	}
	fmt.Fprintf(&b, "HEAD %s", head)
	b.WriteString(r.Git("for-each-ref") + "\n")
	b.WriteString(r.Git("ls-files", "-s") + "\n")
	b.WriteString(r.Git("status", "--porcelain=v1", "--ignored") + "\n")
	config, err := os.ReadFile(r.gitPath("config"))
	if err != nil {
		r.tb.Fatal(err)
	}
	b.Write(config)
	for _, logs := range []string{r.gitPath("logs/HEAD"), r.gitPath("logs/refs")} {
		err := filepath.Walk(logs, func(p string, info os.FileInfo, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err == nil && info.Mode().IsRegular() {
				data, readErr := os.ReadFile(p)
				// git's own rewriting of a log adds the tab before an empty message.
				fmt.Fprintf(&b, "%s\n%s", p, strings.ReplaceAll(string(data), "\t\n", "\n"))
				return readErr
			}
			return err
		})
		if err != nil {
			r.tb.Fatal(err)
		}
	}
	return b.String()
}

func (r *Repo) gitPath(name string) string {
	return r.Git("rev-parse", "--path-format=absolute", "--git-path", name)
}

// Open binds g to the checkout.
func (r *Repo) Open(g *gitx.Git) *gitx.Repo {
	r.tb.Helper()
	abs := func(p string) string {
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.Dir, p)
		}
		return p
	}
	repo, err := g.Repo(gitx.Location{
		GitDir:    abs(r.Git("rev-parse", "--git-dir")),
		CommonDir: abs(r.Git("rev-parse", "--git-common-dir")),
		WorkTree:  r.Dir,
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	return repo
}

// MakeTree writes a tree as "git mktree" reads it, also one that an index would refuse.
func MakeTree(tb testing.TB, r *Repo, tree string) string {
	tb.Helper()
	cmd := exec.Command("git", "mktree") //nolint:noctx // a test's own git
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, Env(), strings.NewReader(tree)
	out, err := cmd.Output()
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
