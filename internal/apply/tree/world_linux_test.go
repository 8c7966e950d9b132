package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// node is one entry of a tree in memory.
type node struct {
	kind  changeset.Kind
	mode  uint32
	data  string // contents or link text
	attrs string // value of user.note; "" = none
}

// world maps paths to entries. Folders on the way are entries, too.
type world map[string]node

func file(data string) node               { return node{kind: changeset.File, mode: 0o644, data: data} }
func fileMode(data string, m uint32) node { return node{kind: changeset.File, mode: m, data: data} }
func dir() node                           { return node{kind: changeset.Dir, mode: 0o755} }
func dirMode2(m uint32) node              { return node{kind: changeset.Dir, mode: m} }
func link(text string) node               { return node{kind: changeset.Symlink, data: text} }

// with returns a copy with entries changed; the zero node deletes.
func (w world) with(more world) world {
	out := maps.Clone(w)
	for p, n := range more {
		if n.kind == "" {
			delete(out, p)
		} else {
			out[p] = n
		}
	}
	return out.parents()
}

func (w world) parents() world {
	for _, p := range slices.Collect(maps.Keys(w)) {
		for i := range len(p) {
			if p[i] == '/' {
				if _, ok := w[p[:i]]; !ok {
					w[p[:i]] = dir()
				}
			}
		}
	}
	return w
}

func (n node) entry() *changeset.Entry {
	e := &changeset.Entry{Kind: n.kind, Mode: n.mode}
	switch n.kind {
	case changeset.File:
		e.Size, e.Hash = int64(len(n.data)), hashOf(n.data)
	case changeset.Symlink:
		e.Link, e.Mode = n.data, 0o777
	case changeset.Dir:
	}
	if n.attrs != "" {
		e.Xattrs = map[string]string{"user.note": n.attrs}
	}
	return e
}

// diff is the changeset between two worlds, path by path.
func diff(before, after world) *changeset.Set {
	set := &changeset.Set{}
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		b, inB := before[p]
		a, inA := after[p]
		c := changeset.Change{Path: p}
		switch {
		case inB && inA:
			if b == a {
				continue
			}
			c.Op, c.Before, c.After = changeset.Modified, b.entry(), a.entry()
		case inB:
			c.Op, c.Before = changeset.Deleted, b.entry()
		default:
			c.Op, c.After = changeset.Created, a.entry()
		}
		set.Changes = append(set.Changes, c)
	}
	return set
}

// worlds serves the contents of two worlds.
type worlds struct{ before, after world }

func (s worlds) Open(side changeset.Side, p string) (io.ReadCloser, error) {
	w := s.after
	if side == changeset.Before {
		w = s.before
	}
	n, ok := w[p]
	if !ok || n.kind != changeset.File {
		return nil, fault.New(fault.NotFound, "open", "%q is no file on this side", p)
	}
	return io.NopCloser(strings.NewReader(n.data)), nil
}

// build makes a world on disk.
func (w world) build(t testing.TB, root string) {
	t.Helper()
	check(t, os.MkdirAll(root, 0o755))
	paths := slices.Sorted(maps.Keys(w))
	for _, p := range paths {
		n, full := w[p], filepath.Join(root, p)
		switch n.kind {
		case changeset.Dir:
			check(t, os.Mkdir(full, 0o755))
		case changeset.Symlink:
			check(t, os.Symlink(n.data, full))
		case changeset.File:
			check(t, writeSparse(full, n.data))
			check(t, os.Chmod(full, goMode(n.mode)))
		}
		setNote(t, full, n)
	}
	for _, p := range slices.Backward(paths) {
		if w[p].kind == changeset.Dir {
			check(t, os.Chmod(filepath.Join(root, p), goMode(w[p].mode)))
		}
	}
}

func setNote(t testing.TB, full string, n node) {
	t.Helper()
	if n.attrs == "" {
		return
	}
	check(t, os.Chmod(full, 0o700))
	if err := unix.Setxattr(full, "user.note", []byte(n.attrs), 0); err != nil {
		t.Skipf("no user attributes here: %v", err)
	}
	if n.kind == changeset.File {
		check(t, os.Chmod(full, goMode(n.mode)))
	}
}

func goMode(m uint32) fs.FileMode {
	out := fs.FileMode(m & 0o777)
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&bit != 0 {
			out |= flag
		}
	}
	return out
}

func writeSparse(full, data string) error {
	f, err := os.OpenFile(full, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for off := 0; off < len(data); off += 4096 {
		block := data[off:min(off+4096, len(data))]
		if strings.Trim(block, "\x00") == "" {
			continue
		}
		if _, err := f.WriteAt([]byte(block), int64(off)); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(f.Truncate(int64(len(data))), f.Close())
}

// seen is a node together with what no changeset carries but an undo restores.
type seen struct {
	node
	ino   uint64
	mtime time.Time
}

// scan reads a tree from disk, with other means than the code under test.
func scan(t testing.TB, root string) map[string]seen {
	t.Helper()
	out := map[string]seen{}
	check(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		s := seen{ino: st.Ino, mtime: time.Unix(st.Mtim.Unix())}
		s.mode = st.Mode & 0o7777
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s.kind, s.data = changeset.File, string(data)
		case unix.S_IFDIR:
			s.kind = changeset.Dir
		case unix.S_IFLNK:
			s.kind, s.mode = changeset.Symlink, 0
			if s.data, err = os.Readlink(path); err != nil {
				return err
			}
		default:
			s.kind = "special"
		}
		buf := make([]byte, 100)
		if n, err := unix.Lgetxattr(path, "user.note", buf); err == nil {
			s.attrs = string(buf[:n])
		}
		out[strings.TrimPrefix(path, root+"/")] = s
		return nil
	}))
	return out
}

// differences spells what a tree on disk has otherwise than a world.
func (w world) differences(is map[string]seen) string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(w)) {
		if s, ok := is[p]; !ok {
			fmt.Fprintf(&b, "%q is missing\n", p)
		} else if s.node != w[p] {
			fmt.Fprintf(&b, "%q is %s, want %s\n", p, s.node, w[p])
		}
	}
	for _, p := range slices.Sorted(maps.Keys(is)) {
		if _, ok := w[p]; !ok {
			fmt.Fprintf(&b, "%q should not be there: %s\n", p, is[p].node)
		}
	}
	return b.String()
}

func (n node) String() string {
	return fmt.Sprintf("%s %04o %.40q (%d) %q", n.kind, n.mode, n.data, len(n.data), n.attrs)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a target made of a world, and a plan's folder.
type fixture struct {
	t     testing.TB
	root  string
	plan  string // the folder for the apply
	out   string // outside of the target: must not change
	tgt   *Target
	req   engine.TargetRequest
	start map[string]seen
}

// spot is where a plan's folder lies: with the target on one file system, or not.
type spot struct{ name, dir string }

// spots lists where the plan's folder can lie on this machine.
func spots(t *testing.T) []spot {
	t.Helper()
	near := t.TempDir()
	out := []spot{{"same file system", near}}
	far, err := os.MkdirTemp("/dev/shm", "ambit-test-")
	if err != nil {
		t.Logf("not tried: a plan's folder on another file system: %v", err)
		return out
	}
	t.Cleanup(func() { unlock(far); _ = os.RemoveAll(far) })
	var a, b unix.Stat_t
	check(t, unix.Stat(near, &a))
	check(t, unix.Stat(far, &b))
	if a.Dev == b.Dev {
		t.Log("not tried: a plan's folder on another file system: /dev/shm is the same one")
		return out
	}
	return append(out, spot{"other file system", far})
}

// inMemory is a folder where waiting for the disk costs nothing, for tests that
// repeat an apply hundreds of times. It falls back to the temporary folder.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ambit-test-")
	if err != nil {
		t.Logf("on disk: %v", err)
		return t.TempDir()
	}
	t.Cleanup(func() { unlock(dir); _ = os.RemoveAll(dir) })
	return dir
}

// eachSpotInMemory runs a test with the target in memory and the plan's folder
// beside it, or on disk.
func eachSpotInMemory(t *testing.T, f func(t *testing.T, in, planDir string)) {
	mem, disk := inMemory(t), t.TempDir()
	t.Run("same file system", func(t *testing.T) { f(t, mem, filepath.Join(mem, "plan")) })
	t.Run("other file system", func(t *testing.T) { f(t, mem, filepath.Join(disk, "plan")) })
}

// eachSpot runs a test for every place of the plan's folder.
func eachSpot(t *testing.T, f func(t *testing.T, planDir string)) {
	for _, s := range spots(t) {
		t.Run(s.name, func(t *testing.T) { f(t, filepath.Join(s.dir, fmt.Sprintf("plan%d", time.Now().UnixNano()))) })
	}
}

func newFixture(t testing.TB, planDir string, before, after world) *fixture {
	t.Helper()
	return fixtureIn(t, "", planDir, before, after)
}

// fixtureIn is newFixture with the target below a given folder.
func fixtureIn(t testing.TB, in, planDir string, before, after world) *fixture {
	t.Helper()
	base, err := os.MkdirTemp(in, "ambit-test-")
	check(t, err)
	t.Cleanup(func() { unlock(base); unlock(planDir); _ = os.RemoveAll(base); _ = os.RemoveAll(planDir) })
	f := &fixture{t: t, root: base + "/real", plan: planDir, out: base + "/out", tgt: New(Options{})}
	before.build(t, f.root)
	world{"secret": fileMode("outside", 0o600), "sub/f": file("outside")}.parents().build(t, f.out)
	check(t, os.MkdirAll(f.plan, 0o700))
	f.req = engine.TargetRequest{
		Plan: "try-k7m2q", Resource: engine.Resource{Name: "real", Type: engine.TypeFSDirectory, Path: f.root},
		Dir: f.plan, Set: diff(before, after), Src: worlds{before, after},
	}
	f.start = scan(t, f.root)
	return f
}

// unlock gives a tree's folders rwx, so that it can be removed.
func unlock(root string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}

// is fails the test unless the target equals the world, with nothing beside it,
// and nothing outside changed.
func (f *fixture) is(w world, when string) map[string]seen {
	f.t.Helper()
	now := scan(f.t, f.root)
	if d := w.differences(now); d != "" {
		f.t.Fatalf("%s:\n%s", when, d)
	}
	if d := (world{"secret": fileMode("outside", 0o600), "sub/f": file("outside")}).parents().differences(scan(f.t, f.out)); d != "" {
		f.t.Fatalf("%s, outside:\n%s", when, d)
	}
	return now
}

// restored fails the test unless the target is exactly as in the beginning, times
// of files and links included.
func (f *fixture) restored(when string) {
	f.t.Helper()
	w := world{}
	for p, s := range f.start {
		w[p] = s.node
	}
	for p, s := range f.is(w, when) {
		if s.kind != changeset.Dir && !s.mtime.Equal(f.start[p].mtime) {
			f.t.Errorf("%s: %q has time %v, had %v", when, p, s.mtime, f.start[p].mtime)
		}
	}
}

// noTraces fails the test when anything of the apply is left in the target.
func (f *fixture) noTraces(when string) {
	f.t.Helper()
	for p := range scan(f.t, f.root) {
		if strings.Contains(p, ".ambit-") {
			f.t.Fatalf("%s: %s was left in the target", when, p)
		}
	}
}

func (f *fixture) prepare() []byte {
	f.t.Helper()
	state, err := f.tgt.Prepare(f.t.Context(), f.req)
	check(f.t, err)
	return state
}

func wantFault(t testing.TB, err error, code fault.Code, paths ...string) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v, want %s", err, code)
	}
	if e.Code != code {
		t.Fatalf("code %s (%v), want %s", e.Code, err, code)
	}
	if len(paths) > 0 && !slices.Equal(e.Paths, paths) {
		t.Fatalf("paths %q, want %q (%v)", e.Paths, paths, err)
	}
}
