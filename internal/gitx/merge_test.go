package gitx_test

import (
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

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

func TestMergeTrees(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	base := r.Write("f", ten, "g", "g", "gone", "x", "u", "a\n", ".gitattributes", "u merge=union\n").Commit("base")
	r.Git("checkout", "-q", "-b", "ours")
	ours := r.Write("f", strings.Replace(ten, "2", "two", 1), "g", "ours", "u", "a\nours\n").Commit("ours")
	r.Git("checkout", "-q", "-b", "clean", base)
	clean := r.Write("f", strings.Replace(ten, "9", "nine", 1), "new", "n").Commit("clean")
	r.Git("checkout", "-q", "-b", "clash", base)
	r.Git("rm", "-q", "gone")
	clash := r.Write("f", strings.Replace(ten, "2", "zwei", 1), "g", "theirs", "u", "a\ntheirs\n").Commit("clash")
	p := plain(t, r.Open(gittest.Git(t)))
	s, err := p.Scratch(filepath.Join(t.TempDir(), "scratch"))
	if err != nil {
		t.Fatal(err)
	}
	before := tree(t, objectsOf(r))
	id := func(c string) string {
		t.Helper()
		tree, err := p.TreeOf(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	m, err := s.MergeTrees(t.Context(), id(base), id(ours), id(clean))
	if err != nil || len(m.Conflicts) != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	want := strings.Replace(strings.Replace(ten, "2", "two", 1), "9", "nine", 1)
	if _, data, err := s.ReadObject(t.Context(), m.Tree+":f", 1000); err != nil || string(data) != want {
		t.Fatalf("%q, %v", data, err)
	}
	m, err = s.MergeTrees(t.Context(), id(base), id(ours), id(clash))
	if err != nil || !slices.Equal(m.Conflicts, []string{"f", "g", "u"}) { // O41
		t.Fatalf("%+v, %v", m, err)
	}
	// With the repository's attributes, git's own union merge is used.
	attrs := filepath.Join(t.TempDir(), "attributes")
	if err := s.Flatten(t.Context(), ours, attrs); err != nil {
		t.Fatal(err)
	}
	m, err = s.WithAttributes(attrs).MergeTrees(t.Context(), id(base), id(ours), id(clash))
	if err != nil || !slices.Equal(m.Conflicts, []string{"f", "g"}) {
		t.Fatalf("with attributes: %+v, %v", m, err)
	}
	if tree(t, objectsOf(r)) != before {
		t.Fatal("a merge wrote into the repository")
	}
	for _, same := range [][3]string{{base, ours, base}, {base, base, ours}, {base, ours, ours}} {
		if m, err := s.MergeTrees(t.Context(), id(same[0]), id(same[1]), id(same[2])); err != nil || m.Tree != id(ours) {
			t.Fatalf("%v: %+v, %v", same, m, err)
		}
	}
}

// TestV28_MergeRunsNoDriver: attributes that name a driver of the repository's
// configuration fall back to git's own merge.
func TestV28_MergeRunsNoDriver(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	base := r.Write("f", ten).Commit("base")
	one := r.Write("f", strings.Replace(ten, "2", "two", 1)).Commit("one")
	r.Git("checkout", "-q", "-b", "x", base)
	two := r.Write("f", strings.Replace(ten, "9", "nine", 1), "sub/.gitattributes", "* merge=evil\n", ".gitattributes", "* merge=evil\n").Commit("two")
	r.MakeHostile()
	p := plain(t, r.Open(gittest.Git(t)))
	s, err := p.Scratch(filepath.Join(t.TempDir(), "scratch"))
	if err != nil {
		t.Fatal(err)
	}
	attrs := filepath.Join(t.TempDir(), "attributes")
	if err := s.Flatten(t.Context(), two, attrs); err != nil {
		t.Fatal(err)
	}
	var trees [3]string
	for i, c := range []string{base, one, two} {
		if trees[i], err = p.TreeOf(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.WithAttributes(attrs).MergeTrees(t.Context(), trees[0], trees[1], trees[2])
	if err != nil || len(m.Conflicts) != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	if ran := r.Ran(); len(ran) > 0 {
		t.Fatalf("ran %s", ran)
	}
}

func TestFlattenEqualsGit(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	paths := []string{"a.x", "d/a.x", "d/e/a.x", "d/b", "d/e/b", "d/sub/b", "we ird[1]/a.x", "we ird[1]/q/a.x", "c"}
	for _, p := range paths {
		r.Write(p, "1")
	}
	r.Write(".gitattributes", "*.x merge=top\n/c merge=c\n# comment\n\n", "d/.gitattributes", "*.x merge=d\nsub/b merge=subb\n/b -merge\n", "d/e/.gitattributes", "a.x merge=e\n", "we ird[1]/.gitattributes", "*.x merge=weird\n")
	c := r.Commit("one")
	g := gittest.Git(t)
	p := plain(t, r.Open(g))
	want, err := p.Attributes(t.Context(), "merge", paths)
	if err != nil {
		t.Fatal(err)
	}
	attrs := filepath.Join(t.TempDir(), "attributes")
	if err := p.Flatten(t.Context(), c, attrs); err != nil {
		t.Fatal(err)
	}
	// An index without any .gitattributes: only the flattened file counts.
	got, err := p.WithIndex(filepath.Join(t.TempDir(), "none")).WithWorkTree(t.TempDir()).WithAttributes(attrs).Attributes(t.Context(), "merge", paths)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" || len(want) < 6 {
		t.Fatalf("%v\n%s", want, d)
	}
}

func TestRewriteCommit(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	base := r.Write("a", "1").Commit("base")
	r.Git("-c", "i18n.commitEncoding=iso-8859-1", "-c", "user.name=Ann", "commit", "-q", "--allow-empty", "-m", "subject\n\nbody\n\nAmbit-Plan: p\nAmbit-Step: s")
	c2 := r.Git("rev-parse", "HEAD")
	p := plain(t, r.Open(gittest.Git(t)))
	s, err := p.Scratch(filepath.Join(t.TempDir(), "o"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Commits(t.Context(), []string{c2})
	if err != nil {
		t.Fatal(err)
	}
	same, err := s.WriteCommit(t.Context(), list[0])
	if err != nil || same != c2 {
		t.Fatalf("writing it back: %s, %v; want %s", same, err, c2)
	}
	c := list[0]
	c.Parents = nil
	c.Committer = gitx.Identity{Name: "Bob", Email: "b@x"}.Ident(time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", -5400)))
	id, err := s.WriteCommit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_, raw, err := s.ReadObject(t.Context(), id, 10000)
	if err != nil || !strings.Contains(string(raw), "\ncommitter Bob <b@x> 1767328445 -0130\nencoding iso-8859-1\n\nsubject\n\nbody") {
		t.Fatalf("%s %v", raw, err)
	}
	if ids, err := s.FirstParents(t.Context(), base, c2); err != nil || !slices.Equal(ids, []string{c2}) {
		t.Fatalf("%v %v", ids, err)
	}
	if ids, err := s.FirstParents(t.Context(), "", c2); err != nil || !slices.Equal(ids, []string{base, c2}) {
		t.Fatalf("%v %v", ids, err)
	}
	if _, err := s.FirstParents(t.Context(), id, c2); !fault.Is(err, fault.Invalid) {
		t.Fatalf("unrelated histories: %v", err)
	}
	if _, err := s.FirstParents(t.Context(), c2, base); !fault.Is(err, fault.Invalid) {
		t.Fatalf("backwards: %v", err)
	}
}

func TestUpdateIndex(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		r := gittest.New(t)
		one := r.Write("a", "1", "b", "2", "d/x", "3", "keep", "k").Commit("one")
		two := r.Write("a", "11").Commit("two")
		r.Git("checkout", "-q", one)
		if split {
			r.Git("update-index", "--split-index")
			if m, _ := filepath.Glob(filepath.Join(r.Dir, ".git/sharedindex.*")); len(m) == 0 {
				t.Fatal("no split index was made")
			}
		}
		p := plain(t, r.Open(gittest.Git(t)))
		work := filepath.Join(t.TempDir(), "index")
		data, err := os.ReadFile(p.IndexFile())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(work, data, 0o644); err != nil {
			t.Fatal(err)
		}
		w := p.WithIndex(work)
		blob := r.Git("rev-parse", two+":a")
		err = w.UpdateIndex(t.Context(), []gitx.IndexEntry{
			{Path: "a", Mode: gitx.ModeFile, ID: blob},
			{Path: "b"},
			{Path: "d/x"},
			{Path: "d", Mode: gitx.ModeFile, ID: blob},
			{Path: "sparse", Mode: gitx.ModeFile, ID: blob, SkipWorktree: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.IndexEntries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []gitx.IndexEntry{
			{Path: "a", Mode: gitx.ModeFile, ID: blob},
			{Path: "d", Mode: gitx.ModeFile, ID: blob},
			{Path: "keep", Mode: gitx.ModeFile, ID: r.Git("rev-parse", one+":keep")},
			{Path: "sparse", Mode: gitx.ModeFile, ID: blob, SkipWorktree: true},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("split=%v: %s", split, d)
		}
		// The real index takes the new one over as it stands.
		if err := os.Rename(work, p.IndexFile()); err != nil {
			t.Fatal(err)
		}
		if out := r.Git("ls-files", "-s"); strings.Count(out, "\n") != 3 {
			t.Fatalf("split=%v: %s", split, out)
		}
	}
}

// TestC16_C17_LocksAreWaitedFor: sixteen writers of one repository all succeed.
func TestC16_C17_LocksAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	one := r.Write("a", "1").Commit("one")
	g := gittest.Git(t)
	errs := make(chan error)
	base := t.TempDir()
	for i := range 16 {
		go func() {
			name := string(rune('a' + i))
			repo := r.Open(g)
			err := repo.Worktree(t.Context(), []string{filepath.Join(base, name), one}, "add", "--quiet", "--no-checkout", "--detach", "--lock")
			if err == nil {
				err = repo.UpdateRefs(t.Context(), "x", gitx.RefChange{Name: "refs/heads/ambit/" + name, New: one})
			}
			if err == nil {
				err = repo.UpdateRefs(t.Context(), "x", gitx.RefChange{Name: "refs/heads/ambit/" + name, Old: one})
			}
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	list, err := r.Open(g).Worktrees(t.Context())
	if err != nil || len(list) != 17 || !list[1].Locked || list[1].Head != one || list[0].Branch != "refs/heads/main" {
		t.Fatalf("%d %+v %v", len(list), list, err)
	}
}
