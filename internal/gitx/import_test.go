package gitx_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

func openDir(t *testing.T, path string) *fsop.Dir {
	t.Helper()
	d, err := fsop.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

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

func TestImport(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		r := gittest.New(t)
		base := r.Write("a", "1").Commit("one")
		box, tip := private(t, r, "b", "new", "deep/er/c", "x")
		// Something the tip does not reach must stay behind.
		box.Write("b", "never committed")
		stray := box.Git("hash-object", "-w", "--no-filters", "b")
		if packed {
			box.Git("repack", "-q", "-a", "-d", "-l")
		}
		before := r.State() + tree(t, objectsOf(r))
		p := plain(t, r.Open(gittest.Git(t)))
		dir := t.TempDir()
		for range 2 { // repeatable
			q, err := p.Import(t.Context(), openDir(t, objectsOf(box)), tip, []string{base}, dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, data, err := q.ReadObject(t.Context(), tip+":b", 100); err != nil || string(data) != "new" {
				t.Fatalf("%q, %v", data, err)
			}
			if _, _, err := q.ReadObject(t.Context(), stray, 100); !fault.Is(err, fault.NotFound) {
				t.Errorf("packed=%v: an object that the tip does not reach came along: %v", packed, err)
			}
		}
		if after := r.State() + tree(t, objectsOf(r)); after != before {
			t.Fatal("importing wrote into the repository")
		}
		pack := filepath.Join(dir, "result.pack")
		if n, err := p.Quarantine(dir).Pack(t.Context(), pack, []string{tip}, []string{base}); err != nil || n < 4 {
			t.Fatalf("%d objects, %v", n, err)
		}
		for range 2 {
			if err := p.TakePack(t.Context(), pack); err != nil {
				t.Fatal(err)
			}
		}
		r.Git("update-ref", "refs/heads/taken", tip)
		r.Fsck()
	}
}

// TestImportRefusesForeignAlternates: a step cannot make ambit read the objects of
// a repository that the step itself could not.
func TestImportRefusesForeignAlternates(t *testing.T) {
	t.Parallel()
	r, secret := gittest.New(t), gittest.New(t)
	base := r.Write("a", "1").Commit("one")
	hidden := secret.Write("key", "secret").Commit("hidden")
	box, _ := private(t, r, "b", "x")
	alternates := filepath.Join(objectsOf(box), "info/alternates")
	own, err := os.ReadFile(alternates)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(alternates, append(own, []byte(objectsOf(secret)+"\n")...), 0o644); err != nil {
		t.Fatal(err)
	}
	p := plain(t, r.Open(gittest.Git(t)))
	_, err = p.Import(t.Context(), openDir(t, objectsOf(box)), hidden, []string{base}, t.TempDir())
	if !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "alternates") {
		t.Fatalf("got %v", err)
	}
	// A link in its place is refused as well.
	if err := os.Remove(alternates); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(secret.Dir, "key"), alternates); err != nil {
		t.Fatal(err)
	}
	if _, err = p.Import(t.Context(), openDir(t, objectsOf(box)), hidden, []string{base}, t.TempDir()); err == nil {
		t.Fatal("alternates behind a link were accepted")
	}
}

func TestImportBelievesNothing(t *testing.T) {
	t.Parallel()
	type scene struct {
		box *gittest.Repo
		tip string
	}
	loose := func(s scene, id string) string { return filepath.Join(objectsOf(s.box), id[:2], id[2:]) }
	overwrite := func(t *testing.T, path string, data []byte) {
		t.Helper()
		_ = os.Remove(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, s *scene)
		code  fault.Code // "" = must pass
	}{
		"missing tip": {func(_ *testing.T, s *scene) { s.tip = strings.Repeat("1", 40) }, fault.NotFound},
		"no id":       {func(_ *testing.T, s *scene) { s.tip = "--upload-pack=x" }, fault.Invalid},
		"tip is a blob": {func(_ *testing.T, s *scene) {
			s.tip = s.box.Git("rev-parse", s.tip+":b")
		}, fault.NotFound},
		"garbage for a blob": {func(t *testing.T, s *scene) {
			overwrite(t, loose(*s, s.box.Git("rev-parse", s.tip+":b")), []byte("garbage"))
		}, fault.Invalid},
		"another object under a blob's name": {func(t *testing.T, s *scene) {
			s.box.Write("other", "something else entirely").Git("add", "other")
			data, err := os.ReadFile(loose(*s, s.box.Git("rev-parse", ":other")))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, loose(*s, s.box.Git("rev-parse", s.tip+":b")), data)
		}, fault.Invalid},
		"missing blob": {func(t *testing.T, s *scene) {
			if err := os.Remove(loose(*s, s.box.Git("rev-parse", s.tip+":b"))); err != nil {
				t.Fatal(err)
			}
		}, fault.Invalid},
		"fifo for a blob": {func(t *testing.T, s *scene) {
			p := loose(*s, s.box.Git("rev-parse", s.tip+":b"))
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(p, 0o644); err != nil {
				t.Fatal(err)
			}
		}, fault.Invalid},
		"tree with .git": {func(t *testing.T, s *scene) {
			tree := s.box.Git("rev-parse", s.tip+"^{tree}")
			s.tip = commitTree(t, s.box, "040000 tree "+tree+"\t.git\n", s.tip)
		}, fault.Invalid},
		"tree with ..": {func(t *testing.T, s *scene) {
			blob := s.box.Git("rev-parse", s.tip+":b")
			s.tip = commitTree(t, s.box, "100644 blob "+blob+"\t..\n", s.tip)
		}, fault.Invalid},
		"gitmodules with a trick": {func(t *testing.T, s *scene) { // V26
			s.tip = s.box.Write(".gitmodules", "[submodule \"../../x\"]\n\tpath = x\n\turl = --upload-pack=evil\n").Commit("trick")
		}, fault.Invalid},
		"garbage beside packs": {func(t *testing.T, s *scene) {
			s.box.Git("repack", "-q", "-a", "-d", "-l")
			dir := filepath.Join(objectsOf(s.box), "pack")
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if !strings.HasSuffix(e.Name(), ".pack") {
					overwrite(t, filepath.Join(dir, e.Name()), []byte("garbage"))
				}
			}
			overwrite(t, filepath.Join(objectsOf(s.box), "info/commit-graph"), []byte("garbage"))
			overwrite(t, filepath.Join(dir, "multi-pack-index"), []byte("garbage"))
		}, ""},
		"damaged pack": {func(t *testing.T, s *scene) {
			s.box.Git("repack", "-q", "-a", "-d", "-l")
			packs, err := filepath.Glob(filepath.Join(objectsOf(s.box), "pack/*.pack"))
			if err != nil || len(packs) != 1 {
				t.Fatal(packs, err)
			}
			data, err := os.ReadFile(packs[0])
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 0xff
			overwrite(t, packs[0], data)
		}, fault.Invalid},
		"link for a pack": {func(t *testing.T, s *scene) {
			s.box.Git("repack", "-q", "-a", "-d", "-l")
			packs, err := filepath.Glob(filepath.Join(objectsOf(s.box), "pack/*.pack"))
			if err != nil || len(packs) != 1 {
				t.Fatal(packs, err)
			}
			if err := os.Rename(packs[0], filepath.Join(s.box.Dir, "moved")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(s.box.Dir, "moved"), packs[0]); err != nil {
				t.Fatal(err)
			}
		}, fault.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			base := r.Write("a", "1").Commit("one")
			box, tip := private(t, r, "b", "new")
			s := &scene{box, tip}
			c.spoil(t, s)
			before := r.State() + tree(t, objectsOf(r))
			p := plain(t, r.Open(gittest.Git(t)))
			_, err := p.Import(t.Context(), openDir(t, objectsOf(box)), s.tip, []string{base}, t.TempDir())
			if c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
				t.Fatalf("want %q, got %v", c.code, err)
			}
			if r.State()+tree(t, objectsOf(r)) != before {
				t.Fatal("the repository changed")
			}
		})
	}
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

func TestPrivateRefs(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	one := r.Write("a", "1").Commit("one")
	r.Git("branch", "packed")
	r.Git("pack-refs", "--all")
	two := r.Write("a", "2").Commit("two")
	git := filepath.Join(r.Dir, ".git")
	dir := openDir(t, git)
	if h, err := gitx.ReadPrivateHead(dir); err != nil || h != (gitx.Head{Commit: two, Branch: "refs/heads/main"}) {
		t.Fatalf("%+v, %v", h, err)
	}
	put := func(name, data string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(git, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("refs/heads/loop", "ref: refs/heads/loop\n")
	put("refs/heads/junk", "hello\n")
	put("refs/heads/climb", "ref: refs/../../secret\n")
	if err := os.Symlink("/etc/hostname", filepath.Join(git, "refs/heads/link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"refs/heads/packed": one, "refs/heads/main": two, "refs/heads/none": ""} {
		if got, err := gitx.ReadPrivateRef(dir, name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"refs/heads/loop", "refs/heads/junk", "refs/heads/climb", "refs/heads/link", "../x", "refs/../HEAD", "config", "refs/heads/main.lock", "/refs/heads/main"} { // V24
		if got, err := gitx.ReadPrivateRef(dir, name); err == nil {
			t.Errorf("%s was read: %q", name, got)
		}
	}
	if err := os.Mkdir(filepath.Join(git, "reftable"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := gitx.ReadPrivateRef(dir, "refs/heads/main"); !fault.Is(err, fault.Unsupported) {
		t.Errorf("a reftable: %v", err)
	}
}
