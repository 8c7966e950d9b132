package git_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

func TestFilesBecomeOneCommit(t *testing.T) {
	t.Parallel()
	s := rich(t)
	s.edit()
	mustDo(t, os.MkdirAll(filepath.Join(s.box.Dir, "empty/dir"), 0o755))
	before, tree := s.real.State(), list(t, s.real.Dir)
	state := s.apply(engine.ToCommit, s.request(false))
	if got := s.real.Git("log", "--format=%an|%B"); !strings.HasPrefix(got, "Ann|The plan\n\nAmbit-Plan: p-1\n") {
		t.Fatalf("%q", got)
	}
	s.clean()
	mustDo(t, os.RemoveAll(filepath.Join(s.box.Dir, "empty"))) // git keeps no empty directories
	s.equalTrees()
	s.undo(engine.ToCommit, state)
	if s.real.State() != before || list(t, s.real.Dir) != tree {
		t.Fatal("undo left another state")
	}
}

func TestFilesOverMovedTip(t *testing.T) {
	t.Parallel()
	s := newScene(t, "f", ten, "g", "g\n", "same", "s\n", "gone", "x\n")
	s.box.Write("f", strings.Replace(ten, "2", "two", 1), "g", "plan\n", "same", "both\n", "new", "plan\n")
	mustDo(t, os.Remove(filepath.Join(s.box.Dir, "gone")))
	s.real.Write("f", strings.Replace(ten, "9", "nine", 1), "g", "mine\n", "same", "both\n", "new", "mine\n", "gone", "kept\n").Commit("mine")
	req := s.request(false)
	s.wantConflict(engine.ToCommit, req, "no longer what the plan started from", "f", "g", "gone", "new")
	req.Merge = true
	s.wantConflict(engine.ToCommit, req, "changed on both sides", "g", "gone", "new")
	req.Set.Changes = only(req.Set, "f", "same")
	s.apply(engine.ToCommit, req)
	if got := s.real.Read("f"); got != strings.Replace(strings.Replace(ten, "2", "two", 1), "9", "nine", 1) {
		t.Fatalf("%q", got)
	}
	if got := s.real.Git("show", "--name-only", "--format=", "HEAD"); got != "f" {
		t.Fatalf("%q", got)
	}
	s.clean()
}

func only(set *changeset.Set, paths ...string) []changeset.Change {
	var out []changeset.Change
	for _, c := range set.Changes {
		for _, p := range paths {
			if c.Path == p {
				out = append(out, c)
			}
		}
	}
	return out
}

func TestFilesThatGitRefuses(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a", "d", "d", ".gitattributes", "*.bin filter=lfs -text\n")
	inner := filepath.Join(s.real.Dir, "sub")
	s.real.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", s.real.Dir, "sub")
	s.base = s.real.Commit("sub")
	_ = inner
	try := func(code fault.Code, path string, set changeset.Change, data string) {
		t.Helper()
		dir := t.TempDir()
		mustDo(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755), os.WriteFile(filepath.Join(dir, path), []byte(data), 0o644))
		req := s.request(false)
		e := entries(t, dir)[path]
		if e == nil { // below .git, which entries leaves out
			e = &changeset.Entry{Kind: changeset.File, Mode: 0o644, Size: int64(len(data))}
		}
		set.Path, set.After, set.Op = path, e, changeset.Created
		req.Set = &changeset.Set{Changes: []changeset.Change{set}}
		req.Src = dirs{dir, dir}
		_, err := s.target(engine.ToCommit).Prepare(t.Context(), req)
		if !fault.Is(err, code) || fault.As(err).Paths[0] != path {
			t.Errorf("%s: %v %v", path, err, fault.As(err).Paths)
		}
		s.noLeftovers()
	}
	try(fault.Invalid, ".git/hooks/pre-commit", changeset.Change{}, "#!/bin/sh\n")
	try(fault.Invalid, "vendor/.GIT/config", changeset.Change{}, "x") // V34: at every depth
	try(fault.Unsupported, "big.bin", changeset.Change{}, "x")
	try(fault.Unsupported, "sub/file", changeset.Change{}, "x")
}

func TestFileInTheWayOfADirectory(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.box.Write("d/x", "plan")
	s.real.Write("d", "mine").Commit("mine")
	s.wantConflict(engine.ToCommit, s.request(false), "in the way", "d")
}

// TestLineEndings: what git converts itself is converted, on both ways.
func TestLineEndings(t *testing.T) {
	t.Parallel()
	for _, history := range []bool{true, false} {
		s := newScene(t, ".gitattributes", "*.txt text eol=crlf\n", "keep.txt", "k\n")
		s.real.Write("a.txt", "one\r\ntwo\r\n")
		s.base = s.real.Commit("crlf")
		mustDo(t, os.RemoveAll(s.box.Dir))
		s.sandbox()
		if s.box.Read("a.txt") != "one\r\ntwo\r\n" {
			t.Fatalf("%q", s.box.Read("a.txt"))
		}
		s.box.Write("a.txt", "one\r\n2\r\n", "new.txt", "n\r\n")
		if history {
			s.box.Commit("plan")
		}
		before := s.real.State()
		state := s.apply(engine.ToCommit, s.request(history))
		s.clean()
		if s.real.Read("a.txt") != "one\r\n2\r\n" || s.real.Read("new.txt") != "n\r\n" {
			t.Fatalf("%q %q", s.real.Read("a.txt"), s.real.Read("new.txt"))
		}
		if got := s.real.Git("cat-file", "blob", "HEAD:a.txt"); got != "one\n2" {
			t.Fatalf("blob %q", got)
		}
		s.undo(engine.ToCommit, state)
		if s.real.State() != before {
			t.Fatal("undo left another state")
		}
	}
}

// TestC25_FilteredFilesKeepTheSandboxesBytes: a file whose blob is a pointer to
// it arrives as it lay in the sandbox; the filter does not run on the host.
func TestC25_FilteredFilesKeepTheSandboxesBytes(t *testing.T) {
	t.Parallel()
	s := newScene(t, ".gitattributes", "*.bin filter=big\n")
	big := func(dir string) {
		r := s.real.At(dir)
		r.Git("config", "filter.big.clean", "touch '"+s.real.Markers+`/clean'; f=$(mktemp); cat >"$f"; printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$(sha256sum <"$f" | cut -d' ' -f1)" "$(stat -c %s "$f")"; rm "$f"`)
		r.Git("config", "filter.big.smudge", "touch '"+s.real.Markers+"/smudge'; cat")
	}
	big(s.real.Dir)
	big(s.box.Dir)
	s.box.Write("x.bin", "hello").Commit("plan")
	if got := s.box.Git("cat-file", "blob", "HEAD:x.bin"); !strings.HasPrefix(got, "version https://git-lfs") {
		t.Fatalf("the filter does not work: %q", got)
	}
	s.real.ForgetMarkers()
	req := s.request(true)
	tg := s.target(engine.ToCommit)
	state, err := tg.Prepare(t.Context(), req)
	mustDo(t, err, tg.Commit(t.Context(), state), tg.Verify(t.Context(), state))
	if ran := s.real.Ran(); len(ran) > 0 {
		t.Fatalf("ran %s", ran)
	}
	if got := s.real.Read("x.bin"); got != "hello" {
		t.Fatalf("%q", got)
	}
	s.clean()
	s.undo(engine.ToCommit, state)
}

// TestV28_CommitsThatAreNotWhatWasReviewed: whatever a step's git makes of the
// files, nothing is published that the reviewer has not seen.
func TestV28_CommitsThatAreNotWhatWasReviewed(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(s *scene) string{
		"skip-worktree": func(s *scene) string {
			s.box.Write("a.txt", "evil\n").Commit("evil")
			s.box.Git("update-index", "--skip-worktree", "a.txt")
			s.box.Write("a.txt", "a\n", "ok.txt", "fine\n").Commit("plan")
			return "a.txt"
		},
		"filter": func(s *scene) string {
			s.box.Git("config", "filter.e.clean", "sed s/good/evil/")
			s.box.Write(".git/info/attributes", "*.txt filter=e\n", "ok.txt", "good\n").Commit("plan")
			return "ok.txt"
		},
		"left out": func(s *scene) string {
			s.box.Write("ok.txt", "fine\n").Commit("plan")
			s.box.Write("more.txt", "reviewed\n")
			return "more.txt"
		},
		"another mode": func(s *scene) string {
			s.box.Write("ok.txt", "fine\n").Commit("plan")
			s.box.Git("update-index", "--chmod=+x", "ok.txt")
			s.box.Git("commit", "-q", "-m", "mode")
			return "ok.txt"
		},
	} {
		for _, to := range []engine.ApplyTo{engine.ToCommit, engine.ToBranch} {
			for _, squash := range []bool{false, true} {
				t.Run(fmt.Sprint(name, to, squash), func(t *testing.T) {
					t.Parallel()
					s := newScene(t, "a.txt", "a\n")
					path := hide(s)
					before := s.real.State()
					req := s.request(true)
					req.Squash, req.Branch = squash, "published"
					_, err := s.target(to).Prepare(t.Context(), req)
					if !errors.Is(err, engine.ErrNotReviewed) || !slices.Contains(fault.As(err).Paths, path) {
						t.Errorf("got %v", err)
					}
					if s.real.State() != before {
						t.Error("the real repository changed")
					}
				})
			}
		}
	}
}

// TestV42_SetuidIsStripped unless the request allows it.
func TestV42_SetuidIsStripped(t *testing.T) {
	t.Parallel()
	for _, allow := range []bool{false, true} {
		s := newScene(t, "a", "a")
		s.box.Write("tool", "#!/bin/sh\n")
		mustDo(t, os.Chmod(filepath.Join(s.box.Dir, "tool"), 0o755|os.ModeSetuid))
		s.box.Commit("plan")
		req := s.request(true)
		for i := range req.Set.Changes {
			req.Set.Changes[i].After.Mode |= 0o4000 // as the kernel says it
		}
		req.AllowSetuid = allow
		s.apply(engine.ToCommit, req)
		info, err := os.Stat(filepath.Join(s.real.Dir, "tool"))
		mustDo(t, err)
		if got := info.Mode()&os.ModeSetuid != 0; got != allow {
			t.Errorf("allowed=%v: %v", allow, info.Mode())
		}
	}
}

func TestModesOfThePersonStay(t *testing.T) {
	t.Parallel()
	s := newScene(t, "secret", "s\n", "script", "#!/bin/sh\n")
	mustDo(t, os.Chmod(filepath.Join(s.real.Dir, "secret"), 0o600), os.Chmod(filepath.Join(s.real.Dir, "script"), 0o640))
	s.box.Write("secret", "changed\n")
	mustDo(t, os.Chmod(filepath.Join(s.box.Dir, "script"), 0o755))
	s.box.Commit("plan")
	state := s.apply(engine.ToCommit, s.request(true))
	for path, want := range map[string]os.FileMode{"secret": 0o600, "script": 0o755} {
		if info, err := os.Stat(filepath.Join(s.real.Dir, path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	s.undo(engine.ToCommit, state)
	if info, err := os.Stat(filepath.Join(s.real.Dir, "script")); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	s := newScene(t, "in/a", "a", "out/b", "b", "top", "t")
	s.real.Git("sparse-checkout", "set", "in")
	if s.real.Read("out/b") != "<none>" {
		t.Fatal("not sparse")
	}
	s.box.Write("in/a", "plan", "out/b", "plan").Commit("plan")
	before := s.real.Git("for-each-ref") + s.real.Git("ls-files", "-s", "-t") + s.real.Git("status", "--porcelain")
	state := s.apply(engine.ToCommit, s.request(true))
	if s.real.Read("in/a") != "plan" || s.real.Read("out/b") != "<none>" {
		t.Fatal("the sparse checkout was filled")
	}
	s.clean()
	s.undo(engine.ToCommit, state)
	if after := s.real.Git("for-each-ref") + s.real.Git("ls-files", "-s", "-t") + s.real.Git("status", "--porcelain"); after != before {
		t.Fatalf("%s\n--- want\n%s", after, before)
	}
}

// TestSubmodulePointer: a changeset carries no submodule pointers, so commits that
// move one are more than what was reviewed.
func TestSubmodulePointer(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a", "a")
	s.real.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", s.real.Dir, "sub")
	s.base = s.real.Commit("sub")
	mustDo(t, os.RemoveAll(s.box.Dir))
	s.sandbox()
	next := s.box.Write("a", "plan").Commit("plan")
	s.box.Git("update-index", "--cacheinfo", "160000,"+next+",sub")
	s.box.Git("commit", "-q", "-m", "pointer")
	before := s.real.State()
	_, err := s.target(engine.ToCommit).Prepare(t.Context(), s.request(true))
	if !errors.Is(err, engine.ErrNotReviewed) || !slices.Contains(fault.As(err).Paths, "sub") {
		t.Errorf("got %v", err)
	}
	if s.real.State() != before {
		t.Error("the real repository changed")
	}
}

// TestV18_CommittedParentLink: a link that the plan's own commits put into the
// way of a path, or that lies in the checkout, is never written through.
func TestV18_CommittedParentLink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	s := newScene(t, "d/x", "x", "keep", "k")
	s.box.Write("d/x", "plan").Commit("plan")
	mustDo(t, os.RemoveAll(filepath.Join(s.real.Dir, "d")), os.WriteFile(filepath.Join(outside, "x"), []byte("x"), 0o644), os.Symlink(outside, filepath.Join(s.real.Dir, "d")))
	s.wantConflict(engine.ToCommit, s.request(true), "uncommitted changes", "d/x")

	s = newScene(t, "keep", "k")
	mustDo(t, os.Symlink(outside, filepath.Join(s.box.Dir, "d")))
	s.box.Commit("link")
	mustDo(t, os.Remove(filepath.Join(s.box.Dir, "d")))
	s.box.Write("d/x", "plan").Commit("through it")
	state := s.apply(engine.ToCommit, s.request(true))
	if s.real.Read("d/x") != "plan" {
		t.Fatal("not applied")
	}
	s.undo(engine.ToCommit, state)
	if b, err := os.ReadFile(filepath.Join(outside, "x")); err != nil || string(b) != "x" {
		t.Fatalf("written through a link: %q %v", b, err)
	}
}

func TestLinkReplacedByDirectoryAndBack(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	s := newScene(t, "keep", "k", "dir/x", "x")
	mustDo(t, os.Symlink(outside, filepath.Join(s.real.Dir, "d")))
	s.base = s.real.Commit("link")
	mustDo(t, os.RemoveAll(s.box.Dir))
	s.sandbox()
	mustDo(t, os.Remove(filepath.Join(s.box.Dir, "d")), os.RemoveAll(filepath.Join(s.box.Dir, "dir")), os.Symlink(outside, filepath.Join(s.box.Dir, "dir")))
	s.box.Write("d/x", "plan").Commit("swap")
	before, tree := s.real.State(), list(t, s.real.Dir)
	state := s.apply(engine.ToCommit, s.request(true))
	s.equalTrees()
	s.undo(engine.ToCommit, state)
	if s.real.State() != before || list(t, s.real.Dir) != tree {
		t.Fatal("undo left another state")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Fatalf("outside: %v %v", left, err)
	}
}

// TestUntrackedInsideAReplacedDirectory: a file of the person's in a directory
// that is to become a file stops the apply.
func TestUntrackedInsideAReplacedDirectory(t *testing.T) {
	t.Parallel()
	s := newScene(t, "d/x", "x")
	mustDo(t, os.RemoveAll(filepath.Join(s.box.Dir, "d")), os.WriteFile(filepath.Join(s.box.Dir, "d"), []byte("file"), 0o644))
	s.box.Commit("plan")
	s.real.Write("d/notes", "mine")
	s.wantConflict(engine.ToCommit, s.request(true), "in the way", "d")
	mustDo(t, os.Remove(filepath.Join(s.real.Dir, "d/notes")), os.MkdirAll(filepath.Join(s.real.Dir, "d/hollow/deep"), 0o755))
	state := s.apply(engine.ToCommit, s.request(true))
	if s.real.Read("d") != "file" {
		t.Fatal("not applied")
	}
	s.undo(engine.ToCommit, state)
	if info, err := os.Stat(filepath.Join(s.real.Dir, "d/hollow/deep")); err != nil || !info.IsDir() {
		t.Fatal("an empty directory did not come back")
	}
}

func TestEmptyParentsGoAsInGit(t *testing.T) {
	t.Parallel()
	s := newScene(t, "a/b/c/f", "f", "a/keep", "k")
	mustDo(t, os.RemoveAll(filepath.Join(s.box.Dir, "a/b")))
	s.box.Commit("plan")
	mustDo(t, os.Chmod(filepath.Join(s.real.Dir, "a/b"), 0o750))
	state := s.apply(engine.ToCommit, s.request(true))
	if _, err := os.Stat(filepath.Join(s.real.Dir, "a/b")); !os.IsNotExist(err) {
		t.Fatal("an empty directory stayed")
	}
	s.undo(engine.ToCommit, state)
	if info, err := os.Stat(filepath.Join(s.real.Dir, "a/b")); err != nil || info.Mode().Perm() != 0o750 {
		t.Fatalf("%v %v", info, err)
	}
}
