package copytree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
)

// names are few, so that the steps of a run meet the same paths; among them
// spaces, newlines, bytes that are no UTF-8, dashes and what looks like markers.
var names = []string{"a", "b", "c d", "n\nl", "\xff\xfe", "-rf", ".wh.a", ".git", "..x", "é"}

func drawPath(t *rapid.T, root string) string {
	depth := rapid.IntRange(1, 3).Draw(t, "depth")
	parts := []string{root}
	for range depth {
		parts = append(parts, rapid.SampledFrom(names).Draw(t, "name"))
	}
	return strings.Join(parts, "/")
}

// mutate does one random thing to a tree; what cannot be done is not.
func mutate(t *rapid.T, root string) {
	p := drawPath(t, root)
	parent := filepath.Dir(p)
	if os.MkdirAll(parent, 0o755) != nil {
		return // a file or FIFO is in the way, and os.RemoveAll would open it
	}
	mode := rapid.SampledFrom([]os.FileMode{0, 0o400, 0o444, 0o600, 0o644, 0o755, 0o700, 0o755 | os.ModeSetuid, 0o775 | os.ModeSetgid, 0o777 | os.ModeSticky}).Draw(t, "mode")
	switch rapid.SampledFrom([]string{"write", "write", "write", "append", "mkdir", "symlink", "link", "remove", "chmod", "fifo", "sparse", "rename", "xattr", "empty"}).Draw(t, "op") {
	case "write":
		notFIFO(p)
		_ = os.WriteFile(p, []byte(strings.Repeat(rapid.SampledFrom([]string{"x", "yz", "\x00\xff"}).Draw(t, "data"), rapid.IntRange(0, 3000).Draw(t, "n"))), 0o644)
	case "empty":
		notFIFO(p)
		_ = os.WriteFile(p, nil, mode.Perm())
	case "append":
		if f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0); err == nil {
			_, _ = f.WriteString("more")
			_ = f.Close()
		}
	case "mkdir":
		_ = os.Mkdir(p, 0o755)
	case "symlink":
		// The absolute one leads to where not even root can make a file: writes follow it.
		_ = os.Symlink(rapid.SampledFrom([]string{"a", "../a", "/nonexistent/x", "\xff", "."}).Draw(t, "target"), p)
	case "link":
		_ = os.Link(drawPath(t, root), p)
	case "remove":
		_ = os.RemoveAll(p)
	case "chmod":
		if fi, err := os.Lstat(p); err == nil && fi.Mode().Type() != os.ModeSymlink {
			_ = os.Chmod(p, mode)
		}
	case "fifo":
		_ = unix.Mkfifo(p, uint32(mode.Perm()))
	case "sparse":
		notFIFO(p)
		_ = os.Truncate(p, int64(rapid.IntRange(0, 100_000).Draw(t, "size")))
	case "rename":
		_ = os.Rename(drawPath(t, root), p)
	case "xattr":
		_ = unix.Lsetxattr(p, "user.x", []byte(rapid.SampledFrom([]string{"", "1", "\x00"}).Draw(t, "value")), 0)
	}
}

// notFIFO keeps the test itself from hanging where it opens a path to write.
func notFIFO(p string) {
	if fi, err := os.Stat(p); err == nil && fi.Mode().Type() == os.ModeNamedPipe {
		_ = os.Remove(p)
	}
}

func many(t *rapid.T, root string, label string) {
	for range rapid.IntRange(0, 18).Draw(t, label) {
		mutate(t, root)
	}
}

// TestO46_RestoreIsExactOnRandomTrees: whatever a step does between, each named
// state comes back exactly, in any order, and the original never changes.
func TestO46_RestoreIsExactOnRandomTrees(t *testing.T) {
	t.Parallel()
	n := 0
	base := newScene(t)
	rapid.Check(t, func(rt *rapid.T) {
		n++
		s := &scene{t: t, base: fmt.Sprintf("%s/%d", base.base, n)}
		s.src = s.base + "/src"
		s.req = base.req
		s.req.Dir, s.req.Resource.Path = s.base+"/state/s1", s.src
		must(t, os.MkdirAll(s.src, 0o700))
		must(t, os.MkdirAll(s.req.Dir, 0o700))
		s.strat = New(rapid.SampledFrom(both).Draw(rt, "strategy"), Options{})
		many(rt, s.src, "start")
		real := shape(t, s.src)
		sb := s.create()
		skippedAtCreation := strings.Contains(strings.Join(sb.Info().Notices, "\n"), "not copied")
		states := map[string]string{engine.CheckpointCreation: shape(t, s.tree())}
		order := []string{engine.CheckpointCreation}
		if !skippedAtCreation && states[engine.CheckpointCreation] != real {
			sameShape(t, states[engine.CheckpointCreation], real)
		}
		for i := range rapid.IntRange(1, 3).Draw(rt, "rounds") {
			if rapid.Bool().Draw(rt, "restore") {
				to := rapid.SampledFrom(order).Draw(rt, "to")
				must(t, s.againNamed(s.strat.name).Restore(t.Context(), to))
				if got := shape(t, s.tree()); got != states[to] {
					sameShape(t, got, states[to])
				}
			}
			many(rt, s.tree(), "step")
			before := shape(t, s.tree())
			name := fmt.Sprintf("c%d", i)
			must(t, s.againNamed(s.strat.name).Checkpoint(t.Context(), name))
			states[name] = shape(t, s.tree())
			if before != states[name] {
				sameShape(t, states[name], before) // looking changes nothing
			}
			order = append(order, name)
		}
		for _, name := range rapid.Permutation(order).Draw(rt, "order") {
			must(t, s.againNamed(s.strat.name).Restore(t.Context(), name))
			if got := shape(t, s.tree()); got != states[name] {
				t.Logf("state %s", name)
				sameShape(t, got, states[name])
			}
		}
		if got := shape(t, s.src); got != real {
			t.Log("the original changed")
			sameShape(t, got, real)
		}
		must(t, s.againNamed(s.strat.name).Destroy(t.Context(), true))
	})
}

func (s *scene) againNamed(name engine.StrategyName) *Sandbox {
	s.t.Helper()
	sb, err := New(name, Options{}).Attach(s.t.Context(), engine.SandboxRecord{ID: "s1", Plan: "p1", Resource: s.req.Resource, Dir: s.req.Dir})
	must(s.t, err)
	out, _ := sb.(*Sandbox)
	return out
}

// TestManifestFileRoundTrip: a manifest reads back as it was, and no damage to
// its file goes unnoticed.
func TestManifestFileRoundTrip(t *testing.T) {
	t.Parallel()
	bytesOf := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "b")) })
	rapid.Check(t, func(t *rapid.T) {
		m := &manifest{boot: bytesOf.Draw(t, "boot"), stamp: rapid.Int64().Draw(t, "stamp")}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			e := entry{
				path: bytesOf.Draw(t, "path"), kind: fsop.Kind(rapid.IntRange(0, 7).Draw(t, "kind")), mode: rapid.Uint32().Draw(t, "mode"),
				uid: rapid.Uint32().Draw(t, "uid"), gid: rapid.Uint32().Draw(t, "gid"), rdev: rapid.Uint64().Draw(t, "rdev"),
				size: rapid.Int64().Draw(t, "size"), mtime: rapid.Int64().Draw(t, "mtime"), hash: bytesOf.Draw(t, "hash"), link: bytesOf.Draw(t, "link"),
				shared: rapid.Bool().Draw(t, "shared"), damaged: rapid.Bool().Draw(t, "damaged"), ino: rapid.Uint64().Draw(t, "ino"), ctime: rapid.Int64().Draw(t, "ctime"),
			}
			if rapid.Bool().Draw(t, "attrs") {
				e.xattrs = map[string]string{bytesOf.Draw(t, "name"): bytesOf.Draw(t, "value")}
			}
			m.entries = append(m.entries, e)
		}
		if rapid.Bool().Draw(t, "skip") {
			m.skipped = []changeset.Skip{{Path: bytesOf.Draw(t, "skipped"), Reason: bytesOf.Draw(t, "reason")}}
		}
		raw := m.encode()
		back, err := decodeManifest(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.entries) == 0 {
			back.entries = nil
		}
		if d := cmp.Diff(m, back, cmp.AllowUnexported(manifest{}, entry{})); d != "" {
			t.Fatal(d)
		}
		i := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
		bad := append([]byte(nil), raw...)
		bad[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := decodeManifest(bad); err == nil {
			t.Fatal("a flipped bit went unnoticed")
		}
		if _, err := decodeManifest(raw[:i]); err == nil {
			t.Fatal("a cut file went unnoticed")
		}
	})
}

// FuzzDecodeManifest: no file makes the reader panic or take memory without end.
func FuzzDecodeManifest(f *testing.F) {
	f.Add((&manifest{entries: []entry{{path: "a", kind: fsop.KindFile, xattrs: map[string]string{"user.a": "b"}}}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decodeManifest(b)
		// Behind the checksum, too.
		r := reader{b: b}
		for !r.bad && len(r.b) > 0 {
			r.str()
			r.uint()
			r.int()
		}
	})
}
