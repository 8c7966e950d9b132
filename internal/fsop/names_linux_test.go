package fsop

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop/fsoptest"
)

var oddNames = []string{
	"-rf", "--", " ", "a b", "line\nbreak", "\xff\xfe\x80", "tab\t", "*", "?", "\\", "\"", "'", "~", "$HOME", ".hidden", "...",
	"\x1b[31m", "\u202e", "é", "e\u0301", strings.Repeat("x", 255), strings.Repeat("é", 127), "CON", "a:b", ".wh.x",
}

func TestOddNamesAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, n := range oddNames {
		must(t, s.root.MkdirAll("src/d"+n[:min(len(n), 254)], 0o755))
		f, err := s.root.Create("src/"+n, 0o644)
		must(t, err)
		_, err = f.WriteString(n)
		must(t, err)
		f.Close()
	}
	stats, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{})
	must(t, err)
	if stats.Files != int64(len(oddNames)) {
		t.Errorf("copied %d of %d", stats.Files, len(oddNames))
	}
	for _, n := range oddNames {
		if data, err := ReadFile(s.root, "dst/"+n, 1000); err != nil || string(data) != n {
			t.Errorf("%q: %q, %v", n, data, err)
		}
	}
	entries, err := s.root.ReadDir("dst")
	must(t, err)
	if !slices.IsSortedFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("ReadDir is not sorted by bytes")
	}
	if a, b := snapshot(t, s.in+"/src"), snapshot(t, s.in+"/dst"); a != b {
		t.Errorf("the copy differs:\n%s\n%s", a, b)
	}
	_, err = s.root.Create(strings.Repeat("x", 256), 0o600)
	wantCode(t, err, fault.Invalid)
	must(t, s.root.RemoveAll("src"))
	must(t, s.root.RemoveAll("dst"))
}

// TestModesAreExact is not parallel: the umask belongs to the whole process.
func TestModesAreExact(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	s := newScene(t)
	for _, mode := range []uint32{0o777, 0o644, 0o600, 0o000, 0o1777, 0o2755, 0o4755} {
		must(t, s.root.Mkdir("d", mode))
		f, err := s.root.Create("f", mode)
		must(t, err)
		f.Close()
		for _, rel := range []string{"d", "f"} {
			info, err := s.root.Stat(rel)
			must(t, err)
			if info.Mode != mode {
				t.Errorf("%s made with %o has %o", rel, mode, info.Mode)
			}
			must(t, s.root.Chmod(rel, 0o750))
			if info, _ = s.root.Stat(rel); info.Mode != 0o750 {
				t.Errorf("%s changed to %o", rel, info.Mode)
			}
			must(t, s.root.Remove(rel))
		}
	}
	must(t, s.root.MkdirAll("a/b/c", 0o755))
	for _, rel := range []string{"a", "a/b", "a/b/c"} {
		if info, _ := s.root.Stat(rel); info.Mode != 0o755 {
			t.Errorf("%s has %o", rel, info.Mode)
		}
	}
	must(t, s.root.MkdirAll("a/b/c", 0o700)) // what exists keeps its mode
	if info, _ := s.root.Stat("a/b"); info.Mode != 0o755 {
		t.Errorf("a/b has %o", info.Mode)
	}
	must(t, WriteFileAtomic(s.root, "w", []byte("1"), 0o640))
	must(t, WriteFileAtomic(s.root, "w", []byte("22"), 0o604))
	if info, _ := s.root.Stat("w"); info.Mode != 0o604 || info.Size != 2 {
		t.Errorf("w is %o, %d bytes", info.Mode, info.Size)
	}
	if entries, _ := s.root.ReadDir("."); len(entries) != 2 {
		t.Errorf("something was left: %v", entries)
	}
}

func TestRenameFamily(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("a", "A")
	s.write("b", "B")
	s.write("d/x", "X")
	wantCode(t, s.root.Rename("a", s.root, "b"), fault.Exists)
	must(t, s.root.Exchange("a", s.root, "d")) // a file for a directory
	if data, _ := ReadFile(s.root, "d", 10); string(data) != "A" {
		t.Errorf("d holds %q", data)
	}
	if data, _ := ReadFile(s.root, "a/x", 10); string(data) != "X" {
		t.Errorf("a/x holds %q", data)
	}
	must(t, s.root.Replace("b", s.root, "d"))
	must(t, s.root.Rename("d", s.root, "a/moved"))
	if data, _ := ReadFile(s.root, "a/moved", 10); string(data) != "B" {
		t.Errorf("a/moved holds %q", data)
	}
	wantCode(t, s.root.Exchange("a", s.root, "absent"), fault.NotFound)
	other, err := OpenRoot("/dev/shm")
	if err == nil {
		defer other.Close()
		a, _ := s.root.Stat(".")
		if b, _ := other.Stat("."); a.Dev() != b.Dev() {
			wantCode(t, s.root.Rename("a", other, TempName()), fault.Unsupported)
		}
	}
}

func TestHardLinksShowInNlinkAndIdentity(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("a", "x")
	must(t, s.root.Link("a", s.root, "b"))
	a, err := s.root.Stat("a")
	must(t, err)
	b, err := s.root.Stat("b")
	must(t, err)
	if a.Nlink != 2 || a.Identity() != b.Identity() {
		t.Errorf("%+v and %+v", a, b)
	}
	s.write("c", "x")
	if c, _ := s.root.Stat("c"); c.Identity() == a.Identity() {
		t.Error("two files have one identity")
	}
	must(t, s.root.Chtimes("a", time.Unix(123, 456)))
	if b, _ = s.root.Stat("b"); !b.Mtime.Equal(time.Unix(123, 456)) {
		t.Errorf("mtime %v", b.Mtime)
	}
}

func TestXattrsOfTheEntryItself(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("f", "x")
	if err := s.root.SetXattr("f", "user.k", []byte("v\x00w")); err != nil {
		t.Skipf("no user attributes here: %v", err)
	}
	must(t, s.root.Mkdir("d", 0o755))
	must(t, s.root.SetXattr("d", "user.big", make([]byte, 3000)))
	v, err := s.root.GetXattr("f", "user.k")
	must(t, err)
	if string(v) != "v\x00w" {
		t.Errorf("%q", v)
	}
	if v, _ = s.root.GetXattr("d", "user.big"); len(v) != 3000 {
		t.Errorf("%d bytes", len(v))
	}
	names, err := s.root.ListXattr("f")
	must(t, err)
	if !slices.Contains(names, "user.k") {
		t.Errorf("%v", names)
	}
	must(t, s.root.RemoveXattr("f", "user.k"))
	wantCode(t, s.root.RemoveXattr("f", "user.k"), fault.NotFound)
	wantCode(t, s.root.SetXattr("f", "bogus", nil), fault.Unsupported, fault.Invalid, fault.Denied)
}

func TestStatfsNamesTheFileSystem(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{"/proc": "proc", "/dev/shm": "tmpfs"} {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			continue
		}
		d, err := OpenRoot(dir)
		must(t, err)
		info, err := d.Statfs()
		must(t, err)
		d.Close()
		if info.Type != want {
			t.Errorf("%s is %s", dir, info.Type)
		}
	}
	s := newScene(t)
	info, err := s.root.Statfs()
	must(t, err)
	if info.FreeBytes == 0 || info.TotalBytes < info.FreeBytes || info.Type == "" {
		t.Errorf("%+v", info)
	}
}

func TestReadFileStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("f", strings.Repeat("x", 1000))
	if data, err := ReadFile(s.root, "f", 1000); err != nil || len(data) != 1000 {
		t.Errorf("%d, %v", len(data), err)
	}
	_, err := ReadFile(s.root, "f", 999)
	wantCode(t, err, fault.Invalid)
	must(t, os.Truncate(s.in+"/f", 0))
	if data, err := ReadFile(s.root, "f", 0); err != nil || len(data) != 0 {
		t.Errorf("%d, %v", len(data), err)
	}
}

func TestWriteNewKeepsBytesAndLeavesHoles(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	block := func(c byte, n int) string { return strings.Repeat(string([]byte{c}), n) }
	for i, data := range []string{
		"", "x", block(0, 1), block(0, holeBlock), block(0, holeBlock+1), block(0, 1<<20), "x" + block(0, 1<<20) + "y",
		block('a', holeBlock) + block(0, 3*holeBlock) + block('b', 5), block(0, copyBuffer) + "z", block('q', copyBuffer+1),
	} {
		name := fmt.Sprint(i)
		f, size, sum, err := WriteNew(t.Context(), s.root, name, strings.NewReader(data))
		must(t, err)
		must(t, s.root.SyncFile(f, name))
		f.Close()
		got, err := ReadFile(s.root, name, 1<<30)
		must(t, err)
		want := fmt.Sprintf("%x", sha256.Sum256([]byte(data)))
		if string(got) != data || size != int64(len(data)) || sum != want {
			t.Errorf("case %d: %d bytes, %s", i, size, sum)
		}
		info, _ := s.root.Stat(name)
		if len(data) > 1<<19 && strings.Count(data, "\x00") > 1<<19 && info.Blocks*512 > 64<<10 {
			t.Errorf("case %d: %d blocks", i, info.Blocks)
		}
		if info.Mode != 0o600 {
			t.Errorf("case %d: mode %o", i, info.Mode)
		}
	}
	_, _, _, err := WriteNew(t.Context(), s.root, "0", strings.NewReader("x"))
	wantCode(t, err, fault.Exists)
	_, _, _, err = WriteNew(t.Context(), s.root, "broken", iotest.ErrReader(errors.New("broken")))
	if err == nil {
		t.Error("a broken reader was taken")
	}
	wantCode(t, second(s.root.Stat("broken")), fault.NotFound)
}

func TestWritableAsksThePermissions(t *testing.T) {
	t.Parallel()
	if !fsoptest.AsUser(t) {
		return
	}
	d, err := OpenRoot(t.TempDir())
	must(t, err)
	defer d.Close()
	for _, mode := range []uint32{0o700, 0o500, 0o300, 0o600, 0o000} {
		must(t, d.Mkdir("d", mode))
		ok, err := d.Writable("d")
		must(t, err)
		if ok != (mode&0o300 == 0o300) {
			t.Errorf("%o: %v", mode, ok)
		}
		must(t, d.Remove("d"))
	}
	etc, err := OpenRoot("/etc")
	must(t, err)
	defer etc.Close()
	if ok, err := etc.Writable("."); ok || err != nil {
		t.Errorf("/etc: %v, %v", ok, err)
	}
}
