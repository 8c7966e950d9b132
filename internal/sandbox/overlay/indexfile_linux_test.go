package overlay

import (
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

func TestIndexFile(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	long := strings.Repeat("n", 200) + "/" + strings.Repeat("m", 250)
	r.Write("a", "1", "dir/b", "2", "dir/bb", "3", "dir/c/d", "4", long, "5", "odd \xff", "6").Commit("one")
	for i := range 300 {
		r.Write(filepath.Join("many", strings.Repeat("x", i%40), string(rune('a'+i%26))), "x")
	}
	r.Commit("two")
	want := strings.Split(r.Git("-c", "core.quotePath=false", "ls-files", "-z"), "\x00")
	want = want[:len(want)-1]
	for _, version := range []string{"2", "3", "4"} {
		r.Git("update-index", "--index-version", version)
		raw, err := os.ReadFile(filepath.Join(r.Dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		whole, err := eachIndexEntry(raw, 20, func(e indexEntry) bool {
			got = append(got, e.path)
			if !e.stated || int(e.uid) != os.Geteuid() || int(e.gid) != os.Getegid() {
				t.Errorf("version %s: %q: %+v", version, e.path, e)
			}
			return true
		})
		if err != nil || !whole {
			t.Errorf("version %s: whole %v, %v", version, whole, err)
		}
		sort.Strings(want)
		sort.Strings(got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("version %s: %d paths, want %d", version, len(got), len(want))
		}
	}
	r.Git("update-index", "--split-index")
	r.Git("update-index", "--force-remove", "a")
	raw, err := os.ReadFile(filepath.Join(r.Dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := eachIndexEntry(raw, 20, func(indexEntry) bool { return true }); err != nil || whole {
		t.Errorf("a split index counts as whole: %v, %v", whole, err)
	}
}

func FuzzIndexFile(f *testing.F) {
	r := gittest.New(f)
	r.Write("a", "1", "dir/b", "2", "dir/bb", "3").Commit("one")
	for _, version := range []string{"2", "4"} {
		r.Git("update-index", "--index-version", version)
		raw, err := os.ReadFile(filepath.Join(r.Dir, ".git/index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := 0
		_, _ = eachIndexEntry(raw, 20, func(indexEntry) bool { n++; return true })
		if n > len(raw)/indexStat {
			t.Errorf("%d entries in %d bytes", n, len(raw))
		}
	})
}

func TestParseMounts(t *testing.T) {
	t.Parallel()
	const text = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 8:1 /var/x /home/u/with\040space rw - ext4 /dev/sda1 rw
24 22 0:5 / /home/u/a\134b rw shared:2 master:3 - tmpfs tmpfs rw
garbage
25 24 0:6 / /home/u/a\134b/deep rw - fuse.sshfs x rw
`
	m := parseMounts([]byte(text))
	if len(m) != 4 || m[1].path != "/home/u/with space" || m[1].root != "/var/x" || m[2].path != `/home/u/a\b` || m[3].fsType != "fuse.sshfs" {
		t.Fatalf("%+v", m)
	}
	if got := mountsBelow(m, "/home/u/a\\b"); len(got) != 1 || got[0] != `/home/u/a\b/deep` {
		t.Errorf("below: %q", got)
	}
	if got := mountsBelow(m, "/home/u/a"); len(got) != 0 { // O32: by components, not by prefix
		t.Errorf("below /home/u/a: %q", got)
	}
	if p := placeOf(m, "/home/u/with space/sub"); p != (place{"8:1", "/var/x/sub"}) {
		t.Errorf("place: %+v", p)
	}
	if p := placeOf(m, "/var/x/sub"); p != (place{"8:1", "/var/x/sub"}) {
		t.Errorf("the same place by another path: %+v", p)
	}
}
