package fsop

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"
)

const benchFiles = 10_000

// benchTree makes 10,000 files of 7 KB, 40 to a directory.
func benchTree(b *testing.B) *Dir {
	b.Helper()
	d, err := OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	data := bytes.Repeat([]byte("seven bytes "), 600)
	for i := range benchFiles {
		if i%40 == 0 {
			if err := d.MkdirAll(fmt.Sprintf("src/d%d/e%d", i/400, i/40), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		f, err := d.Create(fmt.Sprintf("src/d%d/e%d/f%d", i/400, i/40, i), 0o644)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Write(data); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	return d
}

// BenchmarkCopyTree copies into fresh folders; nothing is removed between the
// rounds, since ext4 is slow for a while after mass deletes.
func BenchmarkCopyTree(b *testing.B) {
	for _, c := range []struct {
		name string
		opts TreeOptions
	}{{"plain", TreeOptions{}}, {"sha256", TreeOptions{CopyOptions: CopyOptions{Hash: true}}}} {
		b.Run(c.name, func(b *testing.B) {
			d := benchTree(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := CopyTree(b.Context(), d, "src", d, fmt.Sprintf("dst%d", i), c.opts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/benchFiles, "µs/file")
		})
	}
	b.Run("cp -a", func(b *testing.B) {
		d := benchTree(b)
		for i := 0; b.Loop(); i++ {
			out, err := exec.CommandContext(b.Context(), "cp", "-a", d.Name()+"/src", fmt.Sprintf("%s/dst%d", d.Name(), i)).CombinedOutput()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/benchFiles, "µs/file")
	})
}

func BenchmarkWalk(b *testing.B) {
	d := benchTree(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Walk(b.Context(), ".", WalkOptions{}, func(string, Info) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/benchFiles, "µs/file")
}

func BenchmarkOpen(b *testing.B) {
	d := benchTree(b)
	b.ReportAllocs()
	for b.Loop() {
		f, _, err := d.Open("src/d0/e0/f0")
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

// TestCopyAllocationsGrowWithTheFilesOnly: a few allocations per file, whatever the tree.
func TestCopyAllocationsGrowWithTheFilesOnly(t *testing.T) {
	s := newScene(t)
	perFile := func(dir string, files int) float64 {
		for i := range files {
			put(s.root, fmt.Sprintf("%s/f%d", dir, i))
		}
		n := 0
		return testing.AllocsPerRun(3, func() {
			n++
			if _, err := CopyTree(t.Context(), s.root, dir, s.root, fmt.Sprintf("%s copy %d", dir, n), TreeOptions{}); err != nil {
				t.Fatal(err)
			}
		}) / float64(files)
	}
	must(t, s.root.Mkdir("small", 0o755))
	must(t, s.root.Mkdir("large", 0o755))
	small, large := perFile("small", 200), perFile("large", 2000)
	if large > 25 || large > small*1.5 {
		t.Errorf("%.1f allocations per file with 200 files, %.1f with 2000", small, large)
	}
	t.Logf("%.1f and %.1f allocations per file", small, large)
}
