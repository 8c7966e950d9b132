package overlay_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

// conflicting lists the changed paths that a target has to refuse.
func conflicting(set *changeset.Set) []string {
	drift := map[string]bool{}
	for _, p := range set.Drift {
		drift[p] = true
	}
	var out []string
	for _, c := range set.Changes {
		if drift[c.Path] || (c.From != "" && drift[c.From]) {
			out = append(out, c.Path)
		}
	}
	return out
}

func TestDrift(t *testing.T) {
	t.Parallel()
	files := []string{"f", "one\n", "g", "two\n", "d/x", "x\n", "d/y", "y\n", "far/away", "far\n"}
	for _, c := range []struct {
		name      string
		step      string          // inside
		person    func(b *box)    // outside, afterwards
		changes   string          // as summary shows them
		conflicts string          // paths
		drift     string          // the whole list
		before    map[string]bool // path → is what it was before known
	}{
		{
			name: "nothing but the step", step: "echo s > f; rm -r d", person: func(*box) {},
			changes: "deleted d|deleted d/x|deleted d/y|modified f", before: map[string]bool{"f": true, "d/x": true},
		},
		{
			name: "another file", step: "echo s > f", person: func(b *box) { b.write("far/away", "edited\n") },
			changes: "modified f", drift: "far/away", before: map[string]bool{"f": true},
		},
		{
			name: "the same file, in place", step: "echo s > f", person: func(b *box) { b.write("f", "mine\n") },
			changes: "modified f", conflicts: "f", drift: "f", before: map[string]bool{"f": false},
		},
		{
			name: "the same file, by rename", step: "echo s > f.tmp; mv f.tmp f",
			person: func(b *box) {
				b.write("f.new", "mine\n")
				b.must(os.Rename(filepath.Join(b.dir, "f.new"), filepath.Join(b.dir, "f")))
			},
			changes: "modified f", conflicts: "f", drift: "f", before: map[string]bool{"f": false},
		},
		{
			name: "the same file, only its mode", step: "echo s > f",
			person:  func(b *box) { b.must(os.Chmod(filepath.Join(b.dir, "f"), 0o600)) },
			changes: "modified f", conflicts: "f", drift: "f", before: map[string]bool{"f": false},
		},
		{
			name: "the same change on both sides", step: "echo s > f; echo t > g", person: func(b *box) { b.write("f", "s\n") },
			changes: "modified g", drift: "", before: map[string]bool{"g": true},
		},
		{
			name: "deleted inside, edited outside", step: "rm f", person: func(b *box) { b.write("f", "mine\n") },
			changes: "deleted f", conflicts: "f", drift: "f", before: map[string]bool{"f": false},
		},
		{
			name: "edited inside, deleted outside", step: "echo s >> f", person: func(b *box) { b.remove("f") },
			changes: "created f", conflicts: "f", drift: "f",
		},
		{
			name: "deleted on both sides", step: "rm f", person: func(b *box) { b.remove("f") },
			changes: "", drift: "",
		},
		{
			name: "a directory deleted inside, a file added to it outside", step: "rm -r d",
			person:  func(b *box) { b.write("d/mine", "mine\n") },
			changes: "deleted d|deleted d/mine|deleted d/x|deleted d/y", conflicts: "d/mine", drift: "d/mine",
			before: map[string]bool{"d/x": true, "d/mine": false},
		},
		{
			name: "a directory replaced inside, a file edited in it outside", step: "rm -r d; mkdir d; echo n > d/n",
			person:  func(b *box) { b.write("d/x", "mine\n") },
			changes: "created d/n|deleted d/x|deleted d/y", conflicts: "d/x", drift: "d/x",
		},
		{
			name: "a directory deleted inside, another moved to its place outside", step: "rm -r d",
			person: func(b *box) {
				b.remove("d")
				b.must(os.Rename(filepath.Join(b.dir, "far"), filepath.Join(b.dir, "d")))
			},
			changes: "deleted d|deleted d/away", conflicts: "d", drift: "d",
		},
		{
			name: "moved inside, edited outside", step: "mv f h", person: func(b *box) { b.write("f", "mine\n") },
			changes: "deleted f|created h", conflicts: "f", drift: "f",
		},
		{
			name: "moved inside, another file came into its directory", step: "mv d/x d/z", person: func(b *box) { b.write("d/mine", "m\n") },
			changes: "renamed d/z from d/x", drift: "d/mine",
		},
		{
			name: "a file of the same name on both sides", step: "echo s > new", person: func(b *box) { b.write("new", "mine\n") },
			changes: "modified new", conflicts: "new", drift: "new", before: map[string]bool{"new": false},
		},
		{
			name: "a file became a directory outside", step: "echo s > f",
			person:  func(b *box) { b.remove("f"); b.write("f/in", "mine\n") },
			changes: "modified f|deleted f/in", conflicts: "f/in", drift: "f/in",
		},
		{
			name: "removed outside, elsewhere", step: "echo s > f", person: func(b *box) { b.remove("far/away") },
			changes: "modified f", drift: "far/", before: map[string]bool{"f": true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := plain(t, files...).create()
			b.inside(c.step)
			c.person(b)
			set, src := b.changes(engine.ChangeOptions{})
			for _, x := range []struct{ what, got, want string }{
				{"changes", strings.ReplaceAll(summary(set), "\n", "|"), c.changes},
				{"conflicts", strings.Join(conflicting(set), "|"), c.conflicts},
				{"drift", strings.Join(set.Drift, "|"), c.drift},
			} {
				if x.got != x.want {
					t.Errorf("%s: %q, want %q", x.what, x.got, x.want)
				}
			}
			for _, ch := range set.Changes {
				known, asked := c.before[ch.Path]
				if !asked || ch.Before == nil || ch.Before.Kind != changeset.File {
					continue
				}
				if (ch.Before.Hash != "") != known {
					t.Errorf("%s: before is %+v, known should be %v", ch.Path, ch.Before, known)
				}
				r, err := src.Open(changeset.Before, ch.Path)
				if err == nil {
					r.Close()
				}
				if (err == nil) != known || (!known && !fault.Is(err, fault.Stale)) {
					t.Errorf("%s: contents before: %v, known should be %v", ch.Path, err, known)
				}
			}
			few, _ := b.changes(engine.ChangeOptions{SkipDrift: true})
			if got := strings.Join(conflicting(few), "|"); got != c.conflicts {
				t.Errorf("without the walk the conflicts are %q, want %q", got, c.conflicts)
			}
		})
	}
}

// A tracked file that the step wrote anew and the person deleted: the index that
// the sandbox was made with knows that it was there.
func TestDriftOfATrackedFile(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("f", "one\n", "g", "two\n").Commit("one")
	b := checkout(t, r, engine.LowerLive).create()
	b.inside("echo s > f.tmp; mv f.tmp f; echo n > n")
	b.remove("f")
	set, _ := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "created f", "created n")
	if got := fmt.Sprint(conflicting(set)); got != "[f]" {
		t.Errorf("conflicts %s, want f: the person deleted it", got)
	}
}

// A chmod to the same mode and a hard link move a file's change time and nothing
// else: the index knows the file still, and its state before can be read. One that
// was written anew with the old time is no such file.
func TestUntouchedTrackedFile(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("f", "one\n", "g", "two\n", "h", "abc\n", "x", "x\n").Commit("one")
	r.Git("update-index", "--refresh")
	b := checkout(t, r, engine.LowerLive).create()
	b.inside("echo s >> f; echo s >> g; echo s >> h; echo s >> x")
	b.must(os.Chmod(filepath.Join(b.dir, "f"), 0o644))
	b.must(os.Link(filepath.Join(b.dir, "g"), filepath.Join(t.TempDir(), "link")))
	at := filepath.Join(b.dir, "h")
	was, err := os.Stat(at)
	b.must(err)
	b.must(os.WriteFile(at, []byte("xyz\n"), 0o644))
	b.must(os.Chtimes(at, was.ModTime(), was.ModTime()))
	b.must(os.Chmod(filepath.Join(b.dir, "x"), 0o755))
	set, src := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "modified f", "modified g", "modified h", "modified x")
	if got := fmt.Sprint(conflicting(set)); got != "[h x]" {
		t.Errorf("conflicts %s, want h and x alone", got)
	}
	for _, name := range []string{"f", "g"} {
		f, err := src.Open(changeset.Before, name)
		b.must(err)
		b.must(f.Close())
	}
}

func TestDriftLeavesIgnoredPathsOut(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "one\n", "cache/x", "x\n").create()
	b.inside("echo s > f; echo s > cache/y")
	b.write("cache/x", "busy\n", "cache/z", "busy\n", "other", "mine\n")
	rules := func(_ context.Context, paths []string) (map[string]bool, error) {
		hit := map[string]bool{}
		for _, p := range paths {
			hit[p] = strings.HasPrefix(p, "cache/")
		}
		return hit, nil
	}
	set, _ := b.changes(engine.ChangeOptions{Ignored: rules})
	b.wantSummary(set, "modified f")
	if got := fmt.Sprint(set.Drift); got != "[other]" {
		t.Errorf("drift %s", got)
	}
	if set.IgnoredPaths != 1 {
		t.Errorf("%d ignored paths", set.IgnoredPaths)
	}
}
