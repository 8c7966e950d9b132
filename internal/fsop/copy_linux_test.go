package fsop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop/fsoptest"
)

func TestC40_CopyIsRestartableAndNeverFollowsTheDestination(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("src/a/f", "content")
	s.write("src/b", "content b")
	s.write("src/dir/x", "x")
	s.symlink("a/f", "src/l")
	must(t, os.MkdirAll(s.in+"/src/empty", 0o711))
	clean := func() {
		must(t, s.root.RemoveAll("dst"))
		must(t, os.Mkdir(s.in+"/dst", 0o755))
	}
	// What an earlier run, or an enemy, may have left where the copy wants to go.
	left := map[string]func(){
		"nothing":                 func() {},
		"a dangling link":         func() { s.symlink(s.outside+"/planted", "dst/b") },
		"a link to a file":        func() { s.symlink(s.outside+"/secret", "dst/b") },
		"a link for a directory":  func() { s.symlink(s.outside, "dst/a") },
		"a link for a link":       func() { s.symlink(s.outside+"/secret", "dst/l") },
		"half a file":             func() { s.write("dst/b", "cont") },
		"a file for a directory":  func() { s.write("dst/dir", "file") },
		"a directory for a file":  func() { s.write("dst/b/deep/er", "file") },
		"a directory for a link":  func() { s.write("dst/l/deep/er", "file") },
		"a fifo for a file":       func() { must(t, unix.Mkfifo(s.in+"/dst/b", 0o600)) },
		"a fifo for a directory":  func() { must(t, unix.Mkfifo(s.in+"/dst/dir", 0o600)) },
		"a hard link to outside":  func() { must(t, os.Link(s.outside+"/secret", s.in+"/dst/b")) },
		"a closed directory":      func() { must(t, os.Mkdir(s.in+"/dst/a", 0)) },
		"a finished earlier copy": func() { must(t, second(CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{}))) },
	}
	for what, prepare := range left {
		clean()
		prepare()
		stats, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if stats.Files != 3 || stats.Dirs != 4 || stats.Links != 1 {
			t.Errorf("%s: %+v", what, stats)
		}
		if a, b := snapshot(t, s.in+"/src"), snapshot(t, s.in+"/dst"); a != b {
			t.Errorf("%s: the copy differs\n%s\n%s", what, a, b)
		}
		s.untouched()
	}
}

func TestCopyFileDestination(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("f", "content")
	s.symlink(s.outside+"/planted", "dangling")
	_, err := CopyFile(t.Context(), s.root, "f", s.root, "dangling", CopyOptions{})
	wantCode(t, err, fault.Exists)
	_, err = CopyFile(t.Context(), s.root, "f", s.root, "dangling", CopyOptions{Replace: true})
	must(t, err)
	s.untouched()
	if data, _ := ReadFile(s.root, "dangling", 100); string(data) != "content" {
		t.Errorf("%q", data)
	}
	_, err = CopyFile(t.Context(), s.root, "f", s.root, "no/such/dir", CopyOptions{})
	wantCode(t, err, fault.NotFound)
	if entries, _ := s.root.ReadDir("."); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
}

// TestC42 runs on whatever the temporary directory lies on; the routes are forced.
func TestC42_ModeTimeAndAttributesSurviveEveryRoute(t *testing.T) {
	t.Parallel()
	routes := map[string]CopyOptions{
		"clone or range": {}, "plain copy": {NoReflink: true}, "hashed": {Hash: true}, "hashed plain": {Hash: true, NoReflink: true, Sync: true},
	}
	for name, opts := range routes {
		t.Run(name, func(t *testing.T) { t.Parallel(); checkCopyKeeps(t, t.TempDir(), opts, nil) })
	}
}

func checkCopyKeeps(t *testing.T, dir string, opts CopyOptions, reflinked *bool) {
	t.Helper()
	d, err := OpenRoot(dir)
	must(t, err)
	defer d.Close()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 4095, 4096, 4097, 70_000, 300_000, 3_000_000} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		must(t, d.RemoveAll("."))
		must(t, WriteFileAtomic(d, "f", data, 0o751))
		attrs := d.SetXattr("f", "user.note", []byte("kept")) == nil
		must(t, d.Chtimes("f", time.Unix(1_234_567_890, 123_456_789)))
		res, err := CopyFile(t.Context(), d, "f", d, "g", opts)
		must(t, err)
		info, err := d.Stat("g")
		must(t, err)
		if info.Mode != 0o751 || info.Size != int64(size) || !info.Mtime.Equal(time.Unix(1_234_567_890, 123_456_789)) || info.Nlink != 1 {
			t.Errorf("size %d: %+v", size, info)
		}
		got, err := ReadFile(d, "g", 1<<30)
		must(t, err)
		if !bytes.Equal(got, data) {
			t.Errorf("size %d: contents differ", size)
		}
		sum := sha256.Sum256(data)
		if opts.Hash && res.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("size %d: hash %s", size, res.SHA256)
		}
		if h, n, err := HashFile(t.Context(), d, "g"); err != nil || n != int64(size) || h != hex.EncodeToString(sum[:]) {
			t.Errorf("size %d: HashFile %s, %d, %v", size, h, n, err)
		}
		if attrs {
			if v, err := d.GetXattr("g", "user.note"); err != nil || string(v) != "kept" {
				t.Errorf("size %d: attribute %q, %v", size, v, err)
			}
		}
		if len(res.Lost) != 0 || res.Unstable {
			t.Errorf("size %d: %+v", size, res)
		}
		if reflinked != nil && size > 0 && res.Reflinked != *reflinked {
			t.Errorf("size %d: reflinked %v", size, res.Reflinked)
		}
	}
}

func TestC42_C48_ReflinkOnXfsAndBtrfs(t *testing.T) {
	for _, fstype := range []string{"xfs", "btrfs"} {
		t.Run(fstype, func(t *testing.T) {
			dir, ok := fsoptest.OnImage(t, fstype)
			if !ok {
				return
			}
			yes, no := true, false
			checkCopyKeeps(t, dir, CopyOptions{}, &yes)
			checkCopyKeeps(t, dir, CopyOptions{Hash: true}, &yes)
			checkCopyKeeps(t, dir, CopyOptions{NoReflink: true}, &no)
			checkSparse(t, dir, CopyOptions{})
			checkSparse(t, dir, CopyOptions{NoReflink: true})
			checkSparse(t, dir, CopyOptions{NoReflink: true, Hash: true})
			d, err := OpenRoot(dir)
			must(t, err)
			defer d.Close()
			must(t, d.RemoveAll("."))
			for i := range 200 {
				must(t, d.MkdirAll("src/d", 0o755))
				must(t, WriteFileAtomic(d, fmt.Sprintf("src/d/%d", i), bytes.Repeat([]byte{byte(i)}, 5000), 0o755))
			}
			stats, err := CopyTree(t.Context(), d, "src", d, "dst", TreeOptions{})
			must(t, err)
			if stats.Reflinked != 200 || stats.Copied != 0 || stats.BytesReflinked != 200*5000 {
				t.Errorf("%+v", stats)
			}
			// Shared blocks, yet independent files (C49).
			must(t, os.WriteFile(dir+"/dst/d/7", []byte("changed"), 0o755))
			if data, _ := ReadFile(d, "src/d/7", 10000); len(data) != 5000 {
				t.Errorf("the source changed: %d bytes", len(data))
			}
			if info, _ := d.Statfs(); info.Type != fstype {
				t.Errorf("Statfs says %s", info.Type)
			}
		})
	}
}

func TestC48_HolesStayHoles(t *testing.T) {
	t.Parallel()
	for _, opts := range []CopyOptions{{}, {NoReflink: true}, {Hash: true}, {NoReflink: true, Hash: true}} {
		checkSparse(t, t.TempDir(), opts)
	}
}

func checkSparse(t *testing.T, dir string, opts CopyOptions) {
	t.Helper()
	d, err := OpenRoot(dir)
	must(t, err)
	defer d.Close()
	must(t, d.RemoveAll("."))
	const size = 32 << 20
	layouts := map[string][]int64{ // where 64 KiB of data lie
		"all hole": {}, "start": {0}, "end": {size - 65536}, "middle": {10 << 20}, "many": {0, 3 << 20, 9 << 20, 20 << 20, 31 << 20},
	}
	for name, at := range layouts {
		f, err := d.Create(name, 0o644)
		must(t, err)
		must(t, f.Truncate(size))
		for _, off := range at {
			_, err := f.WriteAt(bytes.Repeat([]byte{'d'}, 65536), off)
			must(t, err)
		}
		must(t, f.Sync())
		f.Close()
		res, err := CopyFile(t.Context(), d, name, d, name+" copy", opts)
		must(t, err)
		c, err := os.OpenFile(dir+"/"+name+" copy", os.O_RDWR, 0)
		must(t, err)
		must(t, c.Sync())
		c.Close()
		a, _ := d.Stat(name)
		b, _ := d.Stat(name + " copy")
		if b.Size != a.Size {
			t.Errorf("%s: size %d", name, b.Size)
		}
		if diff := b.Blocks - a.Blocks; diff > a.Blocks/20+16 || diff < -(a.Blocks/20+16) {
			t.Errorf("%s %+v: %d blocks became %d", name, opts, a.Blocks, b.Blocks)
		}
		ha, _, _ := HashFile(t.Context(), d, name)
		hb, _, _ := HashFile(t.Context(), d, name+" copy")
		if ha != hb || (opts.Hash && res.SHA256 != ha) {
			t.Errorf("%s: contents differ", name)
		}
	}
}

func TestC49_CopiesAreNeverHardLinkedToTheSource(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("src/a", "original")
	must(t, os.Link(s.in+"/src/a", s.in+"/src/b"))
	s.write("src/c", "original")
	_, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{})
	must(t, err)
	for _, n := range []string{"a", "b", "c"} {
		x, _ := s.root.Stat("src/" + n)
		y, _ := s.root.Stat("dst/" + n)
		if x.Ino == y.Ino || x.Nlink != y.Nlink {
			t.Errorf("%s: %+v and %+v", n, x, y)
		}
		f, err := os.OpenFile(s.in+"/dst/"+n, os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt([]byte("CHANGED!"), 0)
		must(t, err)
		f.Close()
		if data, _ := ReadFile(s.root, "src/"+n, 100); string(data) != "original" {
			t.Errorf("src/%s is now %q", n, data)
		}
	}
}

func TestC64_HardLinkPairsStayPairs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range 50 {
		s.write(fmt.Sprintf("src/d%02d/f", i), strings.Repeat("x", i))
		must(t, os.MkdirAll(s.in+"/src/z", 0o755))
		must(t, os.Link(fmt.Sprintf("%s/src/d%02d/f", s.in, i), fmt.Sprintf("%s/src/z/%02d", s.in, i)))
	}
	// One with a name outside of the tree: the count differs, and must.
	must(t, os.Link(s.in+"/src/d00/f", s.in+"/elsewhere"))
	s.symlink("d01/f", "src/l")
	must(t, os.Link(s.in+"/src/l", s.in+"/src/l2"))
	hashes := map[string]string{}
	for range 2 {
		stats, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{
			CopyOptions: CopyOptions{Hash: true},
			Entry:       func(p string, _ Info, sum string, _ bool) { hashes[p] = sum },
		})
		must(t, err)
		if stats.Files != 50 || stats.Links != 52 {
			t.Errorf("%+v", stats)
		}
	}
	for i := range 50 {
		a, err := s.root.Stat(fmt.Sprintf("dst/d%02d/f", i))
		must(t, err)
		b, err := s.root.Stat(fmt.Sprintf("dst/z/%02d", i))
		must(t, err)
		if a.Identity() != b.Identity() || a.Nlink != 2 || a.Size != int64(i) {
			t.Errorf("%d: %+v, %+v", i, a, b)
		}
		if h := hashes[fmt.Sprintf("z/%02d", i)]; h == "" || h != hashes[fmt.Sprintf("d%02d/f", i)] {
			t.Errorf("%d: hash %q", i, h)
		}
	}
	if text, _ := s.root.Readlink("dst/l2"); text != "d01/f" {
		t.Errorf("l2 -> %q", text)
	}
}

func TestCopyTreeOptions(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("src/keep/f", "12345")
	s.write("src/drop/f", "x")
	s.write("src/keep/no.o", "x")
	var seen []string
	var last CopyStats
	stats, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{
		CopyOptions: CopyOptions{Hash: true, Sync: true},
		Exclude:     func(p string, i Info) bool { return p == "drop" && i.Kind == KindDir || strings.HasSuffix(p, ".o") },
		Entry:       func(p string, _ Info, _ string, _ bool) { seen = append(seen, p) },
		Progress:    func(st CopyStats) { last = st },
	})
	must(t, err)
	if stats.Files != 1 || stats.Dirs != 2 || last.Files != 1 || stats.BytesCopied+stats.BytesReflinked != 5 {
		t.Errorf("%+v, last %+v", stats, last)
	}
	if strings.Join(seen, " ") != ". keep keep/f" {
		t.Errorf("%v", seen)
	}
	// Into itself: the destination is not copied into itself for ever.
	stats, err = CopyTree(t.Context(), s.root, "src", s.root, "src/inner", TreeOptions{})
	must(t, err)
	if len(stats.Skipped) != 1 || stats.Skipped[0].Path != "inner" {
		t.Errorf("%+v", stats)
	}
	_, err = CopyTree(t.Context(), s.root, "src", s.root, "src", TreeOptions{})
	wantCode(t, err, fault.Invalid)
	// Below other names on both sides.
	must(t, s.root.MkdirAll("deep/er", 0o755))
	_, err = CopyTree(t.Context(), s.root, "src/keep", s.root, "deep/er/copy", TreeOptions{})
	must(t, err)
	if data, _ := ReadFile(s.root, "deep/er/copy/f", 10); string(data) != "12345" {
		t.Errorf("%q", data)
	}
}

func TestCopyKeepsOwnersAsRootAndReportsTheirLoss(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("files of other owners need root")
	}
	s := newScene(t)
	s.write("src/f", "x")
	s.symlink("f", "src/l")
	must(t, os.Chown(s.in+"/src/f", 12, 34))
	must(t, os.Chmod(s.in+"/src/f", 0o755|os.ModeSetuid))
	must(t, os.Lchown(s.in+"/src/l", 12, 34))
	must(t, os.Chown(s.in+"/src", 12, 34))
	stats, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{})
	must(t, err)
	for _, n := range []string{"dst", "dst/f", "dst/l"} {
		if i, _ := s.root.Stat(n); i.UID != 12 || i.GID != 34 {
			t.Errorf("%s belongs to %d:%d", n, i.UID, i.GID)
		}
	}
	if i, _ := s.root.Stat("dst/f"); i.Mode != 0o4755 || len(stats.Lost) != 0 {
		t.Errorf("%o, %v", i.Mode, stats.Lost)
	}
	_, err = CopyFile(t.Context(), s.root, "src/f", s.root, "plain", CopyOptions{DropSetuid: true})
	must(t, err)
	if i, _ := s.root.Stat("plain"); i.Mode != 0o755 {
		t.Errorf("%o", i.Mode)
	}
}

func TestCopyReportsALostOwnerAndDropsItsSetuid(t *testing.T) {
	t.Parallel()
	if !fsoptest.AsUser(t) {
		return
	}
	src, err := OpenRoot("/usr/bin")
	must(t, err)
	defer src.Close()
	for _, name := range []string{"passwd", "su", "mount", "newgrp"} {
		info, err := src.Stat(name)
		if err != nil || info.Mode&unix.S_ISUID == 0 || info.Mode&0o004 == 0 {
			continue
		}
		dst, err := OpenRoot(t.TempDir())
		must(t, err)
		defer dst.Close()
		res, err := CopyFile(t.Context(), src, name, dst, "copy", CopyOptions{})
		must(t, err)
		if i, _ := dst.Stat("copy"); i.Mode&unix.S_ISUID != 0 || i.Mode != info.Mode&0o777 {
			t.Errorf("%s: mode %o", name, i.Mode)
		}
		if strings.Join(res.Lost, " ") != "owner setuid" {
			t.Errorf("%s: lost %v", name, res.Lost)
		}
		return
	}
	t.Skip("no readable setuid program of another owner here")
}

func TestCopyDoesNotInheritADefaultACL(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("src/d/f", "x")
	must(t, s.root.Mkdir("dst", 0o755))
	// user::rwx, user:12:rwx, group::r-x, mask::rwx, other::r-x
	acl := []byte{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 12, 0, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255}
	if err := s.root.SetXattr("dst", aclDefault, acl); err != nil {
		t.Skipf("no POSIX ACLs here: %v", err)
	}
	_, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{})
	must(t, err)
	for _, rel := range []string{"dst", "dst/d", "dst/d/f"} {
		if names, _ := s.root.ListXattr(rel); len(names) != 0 {
			t.Errorf("%s has %v", rel, names)
		}
	}
	must(t, s.root.SetXattr("src/d", aclDefault, acl))
	must(t, s.root.SetXattr("src/d/f", aclAccess, acl))
	_, err = CopyTree(t.Context(), s.root, "src", s.root, "dst2", TreeOptions{})
	must(t, err)
	if v, err := s.root.GetXattr("dst2/d", aclDefault); err != nil || !bytes.Equal(v, acl) {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := s.root.GetXattr("dst2/d/f", aclAccess); err != nil || !bytes.Equal(v, acl) {
		t.Errorf("%v, %v", v, err)
	}
	a, _ := s.root.Stat("src/d/f")
	if b, _ := s.root.Stat("dst2/d/f"); a.Mode != b.Mode {
		t.Errorf("%o became %o", a.Mode, b.Mode)
	}
}

// TestAttributesOfReadOnlyFilesAreCopied: a user may not set attributes on a file
// that is read-only already.
func TestAttributesOfReadOnlyFilesAreCopied(t *testing.T) {
	t.Parallel()
	if !fsoptest.AsUser(t) {
		return
	}
	d, err := OpenRoot(t.TempDir())
	must(t, err)
	defer d.Close()
	must(t, d.MkdirAll("src/d", 0o755))
	put(d, "src/d/f")
	if err := d.SetXattr("src/d/f", "user.k", []byte("v")); err != nil {
		t.Skipf("no user attributes here: %v", err)
	}
	must(t, d.SetXattr("src/d", "user.k", []byte("v")))
	must(t, d.Chmod("src/d/f", 0o444))
	must(t, d.Chmod("src/d", 0o555))
	stats, err := CopyTree(t.Context(), d, "src", d, "dst", TreeOptions{})
	must(t, err)
	if len(stats.Lost) != 0 {
		t.Errorf("lost %v", stats.Lost)
	}
	for _, rel := range []string{"dst/d", "dst/d/f"} {
		if v, err := d.GetXattr(rel, "user.k"); err != nil || string(v) != "v" {
			t.Errorf("%s: %q, %v", rel, v, err)
		}
	}
	must(t, d.RemoveAll("."))
}
