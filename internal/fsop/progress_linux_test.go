package fsop

import (
	"os"
	"testing"
)

// TestOneBigFileIsReportedOnTheWay: somebody who copies one large sparse file
// hears how far it is, and the copy has the holes of the original.
func TestOneBigFileIsReportedOnTheWay(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const size = 5 * rangeChunk
	must(t, os.Mkdir(s.in+"/src", 0o755))
	must(t, os.WriteFile(s.in+"/src/big", []byte("head"), 0o600))
	must(t, os.Truncate(s.in+"/src/big", size))
	before, err := s.root.Stat("src/big")
	must(t, err)
	if !before.Sparse() {
		t.Skip("this file system keeps no holes")
	}
	for _, opts := range []CopyOptions{{Hash: true}, {Hash: true, NoReflink: true}, {NoReflink: true}} {
		must(t, s.root.RemoveAll("dst"))
		var told []int64
		stats, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{CopyOptions: opts, Progress: func(st CopyStats) {
			if st.Files == 0 {
				told = append(told, st.BytesDone)
			}
		}})
		must(t, err)
		if want := 2; opts.Hash && len(told) < want {
			t.Errorf("%+v: reported %v before the file was done, want %d times at least", opts, told, want)
		}
		for i, n := range told {
			if n <= 0 || n > size || i > 0 && n < told[i-1] {
				t.Errorf("%+v: reported %v of %d", opts, told, size)
			}
		}
		if stats.BytesDone != size {
			t.Errorf("%+v: %d bytes in the end, want %d", opts, stats.BytesDone, size)
		}
		after, err := s.root.Stat("dst/big")
		must(t, err)
		if after.Size != size || after.Blocks > before.Blocks+64 {
			t.Errorf("%+v: the copy has %d bytes in %d blocks, the original %d in %d", opts, after.Size, after.Blocks, before.Size, before.Blocks)
		}
	}
}
