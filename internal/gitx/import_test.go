package gitx_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

// private makes what a sandbox holds: a clone that shares the repository's
// objects, with one commit of its own.
func private(t *testing.T, r *gittest.Repo, files ...string) (box *gittest.Repo, tip string) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(r.Dir), "box")
	r.Git("clone", "-q", "-s", r.Dir, dir)
	box = r.At(dir)
	box.Git("config", "user.name", "Step")
	box.Git("config", "user.email", "step@example.com")
	tip = box.Write(files...).Commit("step")
	return box, tip
}

func objectsOf(r *gittest.Repo) string { return filepath.Join(r.Dir, ".git/objects") }

// packOf is what a sandbox hands out: a pack for tip without base.
func packOf(t *testing.T, box *gittest.Repo, tip, base string) string {
	t.Helper()
	cmd := exec.Command("git", "pack-objects", "--revs", "--stdout", "-q")
	cmd.Dir, cmd.Env, cmd.Stdin = box.Dir, gittest.Env(), strings.NewReader(tip+"\n^"+base+"\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "history.pack")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestImport(t *testing.T) {
	t.Parallel()
	for _, many := range []bool{false, true} { // loose objects, or a pack
		r := gittest.New(t)
		base := r.Write("a", "1").Commit("one")
		box, tip := private(t, r, "b", "new", "deep/er/c", "x")
		if many {
			for i := range 200 {
				box.Write(fmt.Sprintf("many/%d", i), fmt.Sprint(i))
			}
			tip = box.Commit("many")
		}
		stray := box.Write("stray", "s").Commit("stray") // the tip does not reach it
		pack := packOf(t, box, stray, base)
		before := r.State() + tree(t, objectsOf(r))
		p := plain(t, r.Open(gittest.Git(t)))
		dir := t.TempDir()
		var q *gitx.Repo
		for range 2 { // repeatable
			var err error
			q, err = p.Import(t.Context(), pack, tip, []string{base}, dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, data, err := q.ReadObject(t.Context(), tip+":b", 100); err != nil || string(data) != "new" {
				t.Fatalf("%q, %v", data, err)
			}
			if _, _, err := q.ReadObject(t.Context(), stray, 100); !fault.Is(err, fault.NotFound) {
				t.Errorf("an object that the tip does not reach came along: %v", err)
			}
		}
		if after := r.State() + tree(t, objectsOf(r)); after != before {
			t.Fatal("importing wrote into the repository")
		}
		result := filepath.Join(dir, "result.pack")
		if n, err := q.Pack(t.Context(), result, []string{tip}, []string{base}); err != nil || n < 4 {
			t.Fatalf("%d objects, %v", n, err)
		}
		for range 2 {
			if err := p.TakePack(t.Context(), result); err != nil {
				t.Fatal(err)
			}
		}
		r.Git("update-ref", "refs/heads/taken", tip)
		r.Fsck()
	}
}

func TestImportOfNothing(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	base := r.Write("a", "1").Commit("one")
	p := plain(t, r.Open(gittest.Git(t)))
	if _, err := p.Import(t.Context(), packOf(t, r, base, base), base, []string{base}, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Import(t.Context(), filepath.Join(t.TempDir(), "none"), base, nil, t.TempDir()); !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
}

func TestImportBelievesNothing(t *testing.T) {
	t.Parallel()
	flip := func(t *testing.T, path string, at func(size int) int) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[at(len(data))] ^= 0xff
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type scene struct {
		box       *gittest.Repo
		base, tip string
		pack      string // made from tip when empty
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, s *scene)
		code  fault.Code
	}{
		"missing tip": {func(_ *testing.T, s *scene) { s.tip = strings.Repeat("1", 40) }, fault.NotFound},
		"no id":       {func(_ *testing.T, s *scene) { s.tip = "--upload-pack=x" }, fault.Invalid},
		"tip is a blob": {func(t *testing.T, s *scene) {
			s.pack = packOf(t, s.box, s.tip, s.base)
			s.tip = s.box.Git("rev-parse", s.tip+":b")
		}, fault.NotFound},
		"not a pack": {func(t *testing.T, s *scene) {
			s.pack = filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(s.pack, []byte("garbage, and more of it"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, fault.Invalid},
		"damaged pack": {func(t *testing.T, s *scene) {
			s.pack = packOf(t, s.box, s.tip, s.base)
			flip(t, s.pack, func(n int) int { return n / 2 })
		}, fault.Invalid},
		"pack cut short": {func(t *testing.T, s *scene) {
			s.pack = packOf(t, s.box, s.tip, s.base)
			if err := os.Truncate(s.pack, 60); err != nil {
				t.Fatal(err)
			}
		}, fault.Invalid},
		"missing blob": {func(t *testing.T, s *scene) {
			s.pack = packList(t, s.box, s.tip, s.box.Git("rev-parse", s.tip+"^{tree}"))
		}, fault.Invalid},
		"missing parent": {func(t *testing.T, s *scene) {
			next := s.box.Write("c", "c").Commit("next")
			s.pack = packOf(t, s.box, next, s.tip)
			s.tip = next
		}, fault.Invalid},
		"tree with .git": {func(t *testing.T, s *scene) {
			tree := s.box.Git("rev-parse", s.tip+"^{tree}")
			s.tip = commitTree(t, s.box, "040000 tree "+tree+"\t.git\n", s.tip)
		}, fault.Invalid},
		"tree with ..": {func(t *testing.T, s *scene) {
			blob := s.box.Git("rev-parse", s.tip+":b")
			s.tip = commitTree(t, s.box, "100644 blob "+blob+"\t..\n", s.tip)
		}, fault.Invalid},
		"V26: gitmodules with a trick": {func(_ *testing.T, s *scene) {
			s.tip = s.box.Write(".gitmodules", "[submodule \"../../x\"]\n\tpath = x\n\turl = --upload-pack=evil\n").Commit("trick")
		}, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			base := r.Write("a", "1").Commit("one")
			box, tip := private(t, r, "b", "new")
			s := &scene{box: box, base: base, tip: tip}
			good := packOf(t, box, tip, base)
			c.spoil(t, s)
			if s.pack == "" && gitx.IsID(s.tip) && s.tip[:2] != "11" {
				s.pack = packOf(t, s.box, s.tip, base)
			} else if s.pack == "" {
				s.pack = good
			}
			before := r.State() + tree(t, objectsOf(r))
			p := plain(t, r.Open(gittest.Git(t)))
			_, err := p.Import(t.Context(), s.pack, s.tip, []string{base}, t.TempDir())
			if !fault.Is(err, c.code) {
				t.Fatalf("want %q, got %v", c.code, err)
			}
			if r.State()+tree(t, objectsOf(r)) != before {
				t.Fatal("the repository changed")
			}
		})
	}
}

// packList packs exactly the named objects.
func packList(t *testing.T, r *gittest.Repo, ids ...string) string {
	t.Helper()
	cmd := exec.Command("git", "pack-objects", "--stdout", "-q")
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, gittest.Env(), strings.NewReader(strings.Join(ids, "\n")+"\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "list.pack")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// commitTree writes a tree that git's own index would refuse.
func commitTree(t *testing.T, r *gittest.Repo, tree, parent string) string {
	t.Helper()
	cmd := exec.Command("git", "mktree")
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, gittest.Env(), strings.NewReader(tree)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return r.Git("commit-tree", "-m", "bad", "-p", parent, strings.TrimSpace(string(out)))
}

// tree lists every file below dir with its size.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err == nil {
			b.WriteString(p + info.Mode().String() + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
