package tree

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/changeset"
)

// Few names, so that the two trees meet.
var drawnNames = []string{"a", "b", "with space", "new\nline", "\xff\xfe", "-f", ".hidden", strings.Repeat("n", 200)}

func drawNode(t *rapid.T, isRoot bool) node {
	mode := rapid.SampledFrom([]uint32{0o644, 0o755, 0o600, 0o444, 0o700}).Draw(t, "mode")
	if isRoot && rapid.IntRange(0, 9).Draw(t, "special mode") == 0 {
		mode = rapid.SampledFrom([]uint32{0o1777, 0o2755, 0o000, 0o200}).Draw(t, "mode")
	}
	attrs := ""
	if rapid.IntRange(0, 7).Draw(t, "attribute") == 0 {
		attrs = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "value")
	}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1:
		return link(rapid.SampledFrom([]string{"a", "../b", "/etc/passwd", "nowhere", "\xff", "."}).Draw(t, "text"))
	case 2, 3, 4, 5:
		return node{kind: changeset.Dir, mode: mode | 0o500, attrs: attrs}
	}
	data := rapid.SampledFrom([]string{
		"", "x", "one\ntwo\n", "\x00\xff", strings.Repeat("\x00", 20_000), strings.Repeat("\x00", 9000) + "end", strings.Repeat("long ", 3000),
	}).Draw(t, "data")
	return node{kind: changeset.File, mode: mode&^0o3000 | 0o400, data: data, attrs: attrs}
}

// drawTree fills a folder; depth bounds it.
func drawTree(t *rapid.T, w world, dir string, depth int, root bool) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(drawnNames), 0, 4, rapid.ID[string]).Draw(t, "names") {
		n := drawNode(t, root)
		path := dir + name
		w[path] = n
		if n.kind == changeset.Dir && depth > 0 {
			drawTree(t, w, path+"/", depth-1, root)
		}
	}
}

// drawChange makes another tree out of one: some entries go, some change.
func drawChange(t *rapid.T, before world, root bool) world {
	if rapid.IntRange(0, 5).Draw(t, "fresh") == 0 {
		w := world{}
		drawTree(t, w, "", 3, root)
		return w
	}
	w := maps.Clone(before)
	for range rapid.IntRange(1, 6).Draw(t, "changes") {
		paths := slices.Sorted(maps.Keys(w))
		var p string
		if len(paths) > 0 {
			p = rapid.SampledFrom(paths).Draw(t, "path")
		}
		switch rapid.IntRange(0, 3).Draw(t, "change") {
		case 0: // goes, with all below
			if p != "" {
				removeBelow(w, p)
				delete(w, p)
			}
		case 1: // becomes something else
			if p != "" {
				n := drawNode(t, root)
				if n.kind != changeset.Dir {
					removeBelow(w, p)
				}
				w[p] = n
			}
		default: // something new
			dir := ""
			if p != "" && w[p].kind == changeset.Dir {
				dir = p + "/"
			}
			path := dir + rapid.SampledFrom(drawnNames).Draw(t, "name")
			if _, ok := w[path]; !ok {
				n := drawNode(t, root)
				w[path] = n
				if n.kind == changeset.Dir {
					drawTree(t, w, path+"/", 1, root)
				}
			}
		}
	}
	return w
}

func removeBelow(w world, dir string) {
	for p := range w {
		if strings.HasPrefix(p, dir+"/") {
			delete(w, p)
		}
	}
}

// TestApplyThenUndoIsIdentity: on random trees Prepare and Commit make the target
// the after side, Undo makes it the before side again.
func TestApplyThenUndoIsIdentity(t *testing.T) {
	t.Parallel()
	root := os.Geteuid() == 0
	for _, spot := range spots(t) {
		t.Run(spot.name, func(t *testing.T) {
			var n atomic.Int64
			rapid.Check(t, func(rt *rapid.T) {
				before := world{}
				drawTree(rt, before, "", 3, root)
				after := drawChange(rt, before, root)
				if len(diff(before, after).Changes) == 0 {
					return
				}
				roundTrip(&rapidTB{TB: t, rt: rt}, filepath.Join(spot.dir, fmt.Sprint("p", n.Add(1))), before, stripped(after))
			})
			unlock(spot.dir)
		})
	}
}

// stripped is a world as it is applied: without set-user-id and set-group-id files.
func stripped(w world) world {
	out := maps.Clone(w)
	for p, n := range out {
		if n.kind == changeset.File {
			n.mode &^= 0o6000
			out[p] = n
		}
	}
	return out
}

// rapidTB lets the fixtures fail a rapid check, so that it shrinks.
type rapidTB struct {
	testing.TB
	rt *rapid.T
}

func (t *rapidTB) Helper()                           {}
func (t *rapidTB) Fatal(args ...any)                 { t.rt.Fatal(args...) }
func (t *rapidTB) Fatalf(format string, args ...any) { t.rt.Fatalf(format, args...) }
func (t *rapidTB) Errorf(format string, args ...any) { t.rt.Errorf(format, args...) }
func (t *rapidTB) Error(args ...any)                 { t.rt.Error(args...) }
