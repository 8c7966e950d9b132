package overlay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/sandbox/overlay"
)

// C133: two plans over one tree; one is applied, the other stays on its base and
// conflicts only where it changed the same.
func TestC133_KeepBase(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "1\n", "g", "1\n", "d/x", "x\n", "d/y", "y\n", "kind", "file\n", "mine", "m\n")
	b.must(os.Symlink("f", filepath.Join(b.dir, "l")))
	b.create()
	b.inside("echo s >> f; echo n > other")
	b.write("mine", "edited by the person\n")
	// Another plan is applied: it changes f, g, l, deletes d, makes new/a, turns kind into a directory.
	paths := []string{"f", "g", "l", "d", "d/x", "d/y", "-new", "-new/a", "kind", "-kind/in", "mine"}
	b.keep(paths)
	b.keep(paths) // again, as a recovery would
	b.write("f", "applied\n", "g", "applied\n", "new/a", "applied\n")
	b.remove("d")
	b.remove("kind")
	b.write("kind/in", "applied\n")
	b.remove("l")
	b.must(os.Symlink("g", filepath.Join(b.dir, "l")))
	b.keep(paths)
	if got := b.inside("cat f g d/x d/y kind mine; readlink l; ls"); got != "1\ns\n1\nx\ny\nfile\nedited by the person\nf\nd\nf\ng\nkind\nl\nmine\nother\n" {
		t.Errorf("the sibling sees %q", got)
	}
	set, src := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "modified f", "created other")
	if got := fmt.Sprint(set.Drift); got != "[mine]" {
		t.Errorf("drift %s: only what the person did", got)
	}
	if before := set.Changes[0].Before; before == nil || before.Size != 2 || before.Hash == "" {
		t.Errorf("before: %+v", before)
	}
	r, err := src.Open(changeset.Before, "f")
	b.must(err)
	b.must(r.Close())
}

// What the person took away after the sandbox was made is no base: it is not kept
// as missing, and is there again when they put it back.
func TestKeepNothingThatIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	b := plain(t, "d/f", "orig\n")
	b.create()
	b.inside("echo b > other")
	b.must(os.Rename(filepath.Join(b.dir, "d"), filepath.Join(b.dir, "away")))
	b.keep([]string{"d/f", "-d/new"})
	b.must(os.Rename(filepath.Join(b.dir, "away"), filepath.Join(b.dir, "d")))
	if got := b.inside("cat d/f"); got != "orig\n" {
		t.Errorf("inside d/f is %q", got)
	}
}

// keep keeps paths; one that begins with "-" is meant to be missing.
func (b *box) keep(paths []string) {
	b.t.Helper()
	sb, ok := b.sb.(*overlay.Sandbox)
	if !ok {
		b.t.Fatalf("%T is no overlay sandbox", b.sb)
	}
	var list []engine.KeepPath
	for _, p := range paths {
		path, absent := strings.CutPrefix(p, "-")
		list = append(list, engine.KeepPath{Path: path, Absent: absent})
	}
	b.must(sb.Keep(b.t.Context(), list))
}
