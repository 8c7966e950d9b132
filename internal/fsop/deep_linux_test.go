package fsop

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop/fsoptest"
)

// deepTree makes levels nested directories, each with a file, and returns the
// path of the deepest. Its path is far longer than PATH_MAX.
func deepTree(t *testing.T, d *Dir, top string, levels int) string {
	t.Helper()
	must(t, d.Mkdir(top, 0o755))
	at, err := d.OpenDir(top)
	must(t, err)
	path := top
	for i := range levels {
		f, err := at.Create("f", 0o644)
		must(t, err)
		fmt.Fprintf(f, "%d", i)
		f.Close()
		must(t, at.Mkdir("d", 0o755))
		next, err := at.OpenDir("d")
		must(t, err)
		at.Close()
		at, path = next, path+"/d"
	}
	at.Close()
	return path
}

func TestC46_DeepTreesUnderALowDescriptorLimit(t *testing.T) {
	t.Parallel()
	if !fsoptest.WithFewDescriptors(t, 64) {
		return
	}
	const levels = 2500
	d, err := OpenRoot(t.TempDir())
	must(t, err)
	defer d.Close()
	deepest := deepTree(t, d, "top", levels)
	if len(deepest) < 4096 {
		t.Fatal("the path is shorter than PATH_MAX")
	}
	if _, err := d.Stat(deepest); err != nil {
		t.Errorf("a path longer than PATH_MAX: %v", err)
	}
	files, dirs, last := 0, 0, ""
	must(t, d.Walk(t.Context(), ".", WalkOptions{}, func(path string, info Info) error {
		if info.Kind == KindDir {
			dirs, last = dirs+1, path
		} else {
			files++
		}
		return nil
	}))
	if files != levels || dirs != levels+1 || last != deepest {
		t.Errorf("Walk saw %d files, %d directories", files, dirs)
	}
	stats, err := CopyTree(t.Context(), d, "top", d, "copy", TreeOptions{CopyOptions: CopyOptions{Hash: true}})
	must(t, err)
	if stats.Files != levels || stats.Dirs != levels+1 {
		t.Errorf("copied %+v", stats)
	}
	if data, err := ReadFile(d, "copy"+strings.TrimPrefix(deepest, "top")[:len(deepest)-len("top")-1]+"f", 10); err != nil || string(data) != fmt.Sprint(levels-1) {
		t.Errorf("the deepest file: %q, %v", data, err)
	}
	must(t, d.RemoveAll("top"))
	must(t, d.RemoveAll("."))
	if entries, _ := d.ReadDir("."); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}

func TestC46_WideTreesUnderALowDescriptorLimit(t *testing.T) {
	t.Parallel()
	if !fsoptest.WithFewDescriptors(t, 64) {
		return
	}
	d, err := OpenRoot(t.TempDir())
	must(t, err)
	defer d.Close()
	for i := range 60 {
		for j := range 5 {
			must(t, d.MkdirAll(fmt.Sprintf("src/a%d/b%d", i, j), 0o755))
			for k := range 10 {
				put(d, fmt.Sprintf("src/a%d/b%d/f%d", i, j, k))
			}
		}
	}
	stats, err := CopyTree(t.Context(), d, "src", d, "dst", TreeOptions{Workers: 32})
	must(t, err)
	if stats.Files != 3000 || stats.Dirs != 361 {
		t.Errorf("%+v", stats)
	}
	must(t, d.RemoveAll("dst"))
	must(t, d.RemoveAll("src"))
}

// TestRemoveAllOpensItsOwnClosedDirectories runs as a user: root is never refused.
func TestRemoveAllOpensItsOwnClosedDirectories(t *testing.T) {
	t.Parallel()
	if !fsoptest.AsUser(t) {
		return
	}
	d, err := OpenRoot(t.TempDir())
	must(t, err)
	defer d.Close()
	for _, mode := range []uint32{0o000, 0o100, 0o400, 0o500, 0o200, 0o600} {
		must(t, d.MkdirAll("t/a/b", 0o755))
		must(t, WriteFileAtomic(d, "t/a/b/f", nil, 0o000))
		must(t, WriteFileAtomic(d, "t/f", nil, 0o000))
		must(t, d.Chmod("t/a/b", mode))
		must(t, d.Chmod("t/a", mode))
		must(t, d.Chmod("t", mode))
		if err := d.RemoveAll("t"); err != nil {
			t.Errorf("mode %o: %v", mode, err)
			_ = d.Chmod("t", 0o755)
		}
		if _, err := d.Stat("t"); !os.IsNotExist(err) && fault.CodeOf(err) != fault.NotFound {
			t.Errorf("mode %o: still there: %v", mode, err)
		}
	}
	// The start directory itself keeps its mode.
	must(t, d.Mkdir("keep", 0o755))
	keep, err := d.OpenDir("keep")
	must(t, err)
	defer keep.Close()
	must(t, keep.Mkdir("x", 0o755))
	must(t, d.Chmod("keep", 0o555))
	must(t, keep.RemoveAll("."))
	if info, _ := d.Stat("keep"); info.Mode != 0o555 {
		t.Errorf("mode is now %o", info.Mode)
	}
	// Copies of closed directories are closed, and can be made again.
	must(t, d.MkdirAll("src/a", 0o755))
	must(t, WriteFileAtomic(d, "src/a/f", []byte("x"), 0o400))
	must(t, d.Chmod("src/a", 0o500))
	for range 2 {
		_, err = CopyTree(t.Context(), d, "src", d, "dst", TreeOptions{})
		must(t, err)
		if info, _ := d.Stat("dst/a"); info.Mode != 0o500 {
			t.Errorf("copied mode %o", info.Mode)
		}
	}
	// What cannot be read is an error naming it, or listed when asked for.
	must(t, d.Chmod("src/a", 0o000))
	_, err = CopyTree(t.Context(), d, "src", d, "dst2", TreeOptions{})
	wantCode(t, err, fault.Denied)
	stats, err := CopyTree(t.Context(), d, "src", d, "dst3", TreeOptions{SkipUnreadable: true})
	must(t, err)
	if len(stats.Skipped) != 1 || stats.Skipped[0].Path != "a" {
		t.Errorf("skipped %+v", stats.Skipped)
	}
	must(t, d.RemoveAll("."))
}

func TestC46_DeepClosedDirectoriesAreCopied(t *testing.T) {
	t.Parallel()
	if !fsoptest.AsUser(t) {
		return
	}
	d, err := OpenRoot(t.TempDir())
	must(t, err)
	defer d.Close()
	const levels = 3 * keepOpen
	deepTree(t, d, "top", levels)
	path := "top" + strings.Repeat("/d", levels)
	must(t, d.Mkdir(path+"/closed", 0o755))
	for p := path + "/closed"; p != "top"; p, _ = SplitRel(p) {
		must(t, d.Chmod(p, 0o500))
	}
	_, err = CopyTree(t.Context(), d, "top", d, "copy", TreeOptions{})
	must(t, err)
	if info, err := d.Stat("copy" + strings.TrimPrefix(path, "top")); err != nil || info.Mode != 0o500 {
		t.Errorf("%o, %v", info.Mode, err)
	}
	must(t, d.RemoveAll("."))
}

func TestNoXdevAndMountPoints(t *testing.T) {
	if !fsoptest.InNamespace(t) {
		return
	}
	base := t.TempDir()
	for _, dir := range []string{"/in/m/inner", "/in/d", "/out"} {
		must(t, os.MkdirAll(base+dir, 0o755))
	}
	must(t, os.WriteFile(base+"/out/secret", []byte("outside"), 0o600))
	must(t, os.WriteFile(base+"/in/d/f", []byte("x"), 0o600))
	must(t, unix.Mount(base+"/out", base+"/in/m", "", unix.MS_BIND, ""))
	defer func() { must(t, unix.Unmount(base+"/in/m", unix.MNT_DETACH)) }()
	open, err := OpenRoot(base + "/in")
	must(t, err)
	defer open.Close()
	closed, err := OpenRoot(base+"/in", NoXdev())
	must(t, err)
	defer closed.Close()

	if data, err := ReadFile(open, "m/secret", 100); err != nil || string(data) != "outside" {
		t.Errorf("without NoXdev: %q, %v", data, err)
	}
	for _, op := range operations() {
		for _, rel := range []string{"m/secret", "m/new"} {
			if op.name == "RemoveAll" && rel == "m/new" {
				continue // absent is nil, and that it is absent is found on the way
			}
			err := op.run(closed, rel)
			wantCode(t, err, fault.Denied, fault.NotFound, fault.Invalid, fault.Conflict)
		}
	}
	wantCode(t, second(ReadFile(closed, "m/secret", 100)), fault.Denied)
	wantCode(t, second(closed.Stat("m")), fault.Denied)
	// Neither removes what is mounted, nor the mount point.
	for _, d := range []*Dir{open, closed} {
		wantCode(t, d.RemoveAll("m"), fault.Conflict, fault.Denied)
		wantCode(t, d.RemoveAll("."), fault.Conflict)
	}
	must(t, os.MkdirAll(base+"/in/d", 0o755))
	must(t, os.WriteFile(base+"/in/d/f", []byte("x"), 0o600))
	if data, err := os.ReadFile(base + "/out/secret"); err != nil || string(data) != "outside" {
		t.Fatalf("what was mounted changed: %q, %v", data, err)
	}
	// Walks report the mount point and stay out where asked.
	for _, c := range []struct {
		d    *Dir
		stay bool
		want bool
	}{{open, false, true}, {open, true, false}, {closed, false, false}} {
		entered, seen := false, false
		must(t, c.d.Walk(t.Context(), ".", WalkOptions{StayOnMount: c.stay}, func(path string, _ Info) error {
			entered = entered || path == "m/secret"
			seen = seen || path == "m"
			return nil
		}))
		if entered != c.want || !seen {
			t.Errorf("stay %v: entered %v, seen %v", c.stay, entered, seen)
		}
	}
	// Copies list it.
	must(t, os.MkdirAll(base+"/dst", 0o755))
	dst, err := OpenRoot(base + "/dst")
	must(t, err)
	defer dst.Close()
	stats, err := CopyTree(t.Context(), open, ".", dst, "a", TreeOptions{})
	must(t, err)
	if len(stats.Skipped) != 1 || stats.Skipped[0] != (Skipped{"m", "mount point"}) {
		t.Errorf("%+v", stats.Skipped)
	}
	stats, err = CopyTree(t.Context(), open, ".", dst, "b", TreeOptions{CrossMounts: true})
	must(t, err)
	if len(stats.Skipped) != 0 || stats.Files != 2 {
		t.Errorf("%+v", stats)
	}
}

func TestWalkIsBoundedSortedAndSkips(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, f := range []string{"b/2", "b/1", "a/x/y", "a-b", "c"} {
		s.write(f, "x")
	}
	walk := func(opts WalkOptions, fn func(string, Info) error) ([]string, error) {
		var got []string
		err := s.root.Walk(t.Context(), ".", opts, func(p string, i Info) error {
			got = append(got, p)
			if fn != nil {
				return fn(p, i)
			}
			return nil
		})
		return got, err
	}
	check := func(got []string, err error, want string) {
		t.Helper()
		must(t, err)
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	got, err := walk(WalkOptions{}, nil)
	check(got, err, "a a/x a/x/y a-b b b/1 b/2 c")
	got, err = walk(WalkOptions{MaxDepth: 1}, nil)
	check(got, err, "a a-b b c")
	got, err = walk(WalkOptions{MaxDepth: 2}, nil)
	check(got, err, "a a/x a-b b b/1 b/2 c")
	got, err = walk(WalkOptions{SkipDir: func(p string, _ Info) bool { return p == "a" }}, nil)
	check(got, err, "a a-b b b/1 b/2 c")
	got, err = walk(WalkOptions{}, func(p string, _ Info) error {
		switch p {
		case "a/x":
			return fs.SkipDir
		case "b/1":
			return fs.SkipAll
		}
		return nil
	})
	check(got, err, "a a/x a-b b b/1")
	_, err = walk(WalkOptions{MaxEntries: 3}, nil)
	wantCode(t, err, fault.Invalid)
	var below []string
	must(t, s.root.Walk(t.Context(), "a", WalkOptions{}, func(p string, _ Info) error { below = append(below, p); return nil }))
	check(below, nil, "a/x a/x/y")
}
