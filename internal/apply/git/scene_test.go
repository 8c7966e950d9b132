package git_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/apply/git"
	"github.com/ambit-run/ambit/internal/apply/tree"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

// scene is a real repository and a sandbox of it: a clone whose checkout is the
// sandbox's tree.
type scene struct {
	t     *testing.T
	real  *gittest.Repo
	box   *gittest.Repo
	base  string // commit the sandbox was made from
	chain string // commit the plan's commits stand on: base, or a carry commit
	was   string // a copy of the tree the sandbox started from
	git   *gitx.Git
	dir   string // the plan's folder for this apply
	cfg   git.Config
}

// newScene commits files and makes the sandbox.
func newScene(t *testing.T, files ...string) *scene {
	t.Helper()
	r := gittest.New(t)
	r.Write(files...)
	s := &scene{t: t, real: r, base: r.Commit("base"), git: gittest.Git(t), dir: t.TempDir()}
	s.cfg = config(s.git, nil)
	s.sandbox()
	return s
}

func config(g *gitx.Git, intercept fsop.Intercept) git.Config {
	return git.Config{Git: g, Files: tree.New(tree.Options{Intercept: intercept}), Intercept: intercept, LockWait: 200 * time.Millisecond}
}

func (s *scene) sandbox() {
	s.t.Helper()
	dir := filepath.Join(filepath.Dir(s.real.Dir), "box")
	s.real.Git("clone", "-q", "-s", "--no-tags", s.real.Dir, dir)
	s.box = s.real.At(dir)
	s.box.Git("config", "user.name", "Step")
	s.box.Git("config", "user.email", "step@example.com")
	s.box.Git("checkout", "-q", "-B", "ambit/p-1", s.base)
	s.chain = s.base
	s.remember()
}

// remember copies the sandbox's tree as the state that the plan starts from.
func (s *scene) remember() {
	s.t.Helper()
	s.was = s.t.TempDir()
	if out, err := exec.Command("cp", "-a", s.box.Dir+"/.", s.was).CombinedOutput(); err != nil {
		s.t.Fatalf("%v %s", err, out)
	}
}

// carry commits what is dirty in the real checkout into the sandbox.
func (s *scene) carry() {
	s.t.Helper()
	if out, err := exec.Command("sh", "-c", "cd '"+s.real.Dir+"' && tar cf - --exclude=.git . | tar xf - -C '"+s.box.Dir+"'").CombinedOutput(); err != nil {
		s.t.Fatalf("%v %s", err, out)
	}
	s.chain = s.box.Commit("carried by ambit")
	s.remember()
}

// request describes the sandbox's commits, or with history off only its files.
func (s *scene) request(history bool) engine.TargetRequest {
	s.t.Helper()
	req := engine.TargetRequest{
		Plan: "p-1", Dir: s.dir, Author: "Ann <ann@example.com>", Message: "The plan",
		Now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Resource: engine.Resource{
			Name: "repo", Type: engine.TypeGitCheckout, Path: s.real.Dir,
			Git: &engine.GitInfo{GitDir: filepath.Join(s.real.Dir, ".git"), CommonDir: filepath.Join(s.real.Dir, ".git"), Head: s.base, Branch: "refs/heads/main"},
		},
		Set: diffDirs(s.t, s.was, s.box.Dir), Src: dirs{s.was, s.box.Dir},
	}
	if history {
		tip := s.box.Git("rev-parse", "HEAD")
		cmd := exec.Command("git", "pack-objects", "--revs", "--stdout", "-q")
		revs := tip + "\n"
		if s.base != "" {
			revs += "^" + s.base + "\n"
		}
		cmd.Dir, cmd.Env, cmd.Stdin = s.box.Dir, gittest.Env(), strings.NewReader(revs)
		out, err := cmd.Output()
		if err != nil {
			s.t.Fatal(err)
		}
		pack := filepath.Join(s.t.TempDir(), "history.pack")
		if err := os.WriteFile(pack, out, 0o600); err != nil {
			s.t.Fatal(err)
		}
		req.History = &engine.GitHistory{Pack: pack, Base: s.chain, RealBase: s.base, Tip: tip}
	}
	return req
}

func (s *scene) target(to engine.ApplyTo) *git.Target { return git.New(s.cfg, to) }

// prepare runs Prepare and checks that it changed nothing real.
func (s *scene) prepare(to engine.ApplyTo, req engine.TargetRequest) json.RawMessage {
	s.t.Helper()
	before := s.real.State() + list(s.t, s.real.Dir)
	state, err := s.target(to).Prepare(s.t.Context(), req)
	if err != nil {
		s.t.Fatalf("prepare: %v\n%v", err, fault.As(err).Paths)
	}
	if after := s.real.State() + list(s.t, s.real.Dir); after != before {
		s.t.Fatalf("prepare changed the checkout:\n%s\n---\n%s", before, after)
	}
	return state
}

// apply runs the whole of an apply.
func (s *scene) apply(to engine.ApplyTo, req engine.TargetRequest) json.RawMessage {
	s.t.Helper()
	state := s.prepare(to, req)
	for range 2 { // repeatable
		if err := s.target(to).Commit(s.t.Context(), state); err != nil {
			s.t.Fatalf("commit: %v %v", err, fault.As(err).Paths)
		}
	}
	if err := s.target(to).Verify(s.t.Context(), state); err != nil {
		s.t.Fatalf("verify: %v %v", err, fault.As(err).Paths)
	}
	s.real.Fsck()
	s.noLeftovers()
	return state
}

func (s *scene) undo(to engine.ApplyTo, state json.RawMessage) {
	s.t.Helper()
	if err := s.target(to).CheckUndo(s.t.Context(), state); err != nil {
		s.t.Fatalf("check undo: %v %v", err, fault.As(err).Paths)
	}
	for range 2 {
		if err := s.target(to).Undo(s.t.Context(), state); err != nil {
			s.t.Fatalf("undo: %v %v", err, fault.As(err).Paths)
		}
	}
	s.noLeftovers()
	s.real.Fsck()
}

// noLeftovers fails when anything of ambit's lies in the repository.
func (s *scene) noLeftovers() {
	s.t.Helper()
	for _, dir := range []string{s.real.Dir, filepath.Join(s.real.Dir, ".git")} {
		found, err := filepath.Glob(filepath.Join(dir, "*ambit-*"))
		if err != nil {
			s.t.Fatal(err)
		}
		hidden, err := filepath.Glob(filepath.Join(dir, ".ambit-*"))
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "index.lock")); err == nil {
			found = append(found, "index.lock")
		}
		if found = append(found, hidden...); len(found) > 0 {
			s.t.Fatalf("left behind: %s", found)
		}
	}
}

// wantConflict runs Prepare and expects it to name exactly these paths.
func (s *scene) wantConflict(to engine.ApplyTo, req engine.TargetRequest, text string, paths ...string) {
	s.t.Helper()
	before := s.real.State() + list(s.t, s.real.Dir)
	_, err := s.target(to).Prepare(s.t.Context(), req)
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), text) {
		s.t.Fatalf("want a conflict with %q, got %v", text, err)
	}
	if got := fault.As(err).Paths; strings.Join(got, "|") != strings.Join(paths, "|") {
		s.t.Fatalf("conflict names %q, want %q (%v)", got, paths, err)
	}
	if after := s.real.State() + list(s.t, s.real.Dir); after != before {
		s.t.Fatal("a refused apply changed something")
	}
	s.noLeftovers()
}

// equalTrees fails unless the checkout holds what the sandbox holds.
func (s *scene) equalTrees() {
	s.t.Helper()
	if d := diffDirs(s.t, s.real.Dir, s.box.Dir); len(d.Changes) > 0 {
		s.t.Fatalf("the checkout is not what the sandbox holds: %+v", d.Changes)
	}
}

func (s *scene) clean() {
	s.t.Helper()
	if out := s.real.Git("status", "--porcelain"); out != "" {
		s.t.Fatalf("status: %s", out)
	}
}

// list describes every file of a tree but those of git's own folder.
func list(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for path, e := range entries(t, dir) {
		b.WriteString(fmt.Sprintf("%q %s %o %s %q\n", path, e.Kind, e.Mode, e.Hash, e.Link))
	}
	lines := strings.Split(b.String(), "\n")
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func entries(t *testing.T, dir string) map[string]*changeset.Entry {
	t.Helper()
	m := map[string]*changeset.Entry{}
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		rel, relErr := filepath.Rel(dir, p)
		if err != nil || relErr != nil || rel == "." {
			return err
		}
		if rel == ".git" {
			if info.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		e := &changeset.Entry{Mode: uint32(info.Mode().Perm())}
		switch {
		case info.IsDir():
			e.Kind = changeset.Dir
		case info.Mode()&os.ModeSymlink != 0:
			e.Kind = changeset.Symlink
			e.Link, err = os.Readlink(p)
		default:
			var data []byte
			data, err = os.ReadFile(p)
			sum := sha256.Sum256(data)
			e.Kind, e.Size, e.Hash = changeset.File, int64(len(data)), hex.EncodeToString(sum[:])
		}
		m[rel] = e
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// diffDirs is the changeset between two folders.
func diffDirs(t *testing.T, before, after string) *changeset.Set {
	t.Helper()
	set := &changeset.Set{Root: before}
	a, b := entries(t, before), entries(t, after)
	for path, e := range b {
		switch old := a[path]; {
		case old == nil:
			set.Changes = append(set.Changes, changeset.Change{Path: path, Op: changeset.Created, After: e})
		case !old.Same(e):
			set.Changes = append(set.Changes, changeset.Change{Path: path, Op: changeset.Modified, Before: old, After: e})
		}
	}
	for path, e := range a {
		if b[path] == nil {
			set.Changes = append(set.Changes, changeset.Change{Path: path, Op: changeset.Deleted, Before: e})
		}
	}
	set.Sort()
	return set
}

// dirs is a changeset.Source over two folders.
type dirs struct{ before, after string }

func (d dirs) Open(side changeset.Side, path string) (io.ReadCloser, error) {
	dir := d.before
	if side == changeset.After {
		dir = d.after
	}
	return os.Open(filepath.Join(dir, path))
}

func mustDo(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
