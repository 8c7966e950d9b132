package copytree

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// benchTree makes a tree of n files of about 10 kB, forty to a folder.
func benchTree(b *testing.B, s *scene, n int) {
	b.Helper()
	data := make([]byte, 20_000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for i := range n {
		dir := fmt.Sprintf("%s/d%03d", s.src, i/40)
		if i%40 == 0 {
			must(b, os.Mkdir(dir, 0o755))
		}
		must(b, os.WriteFile(fmt.Sprintf("%s/f%05d", dir, i), data[:i*7919%20_000], 0o644))
	}
}

// BenchmarkCreate10000 makes a copy and has cp -a make one in turn, so that both
// meet the same machine, and reports the median of the ratios. Each copies into a
// new folder: making files just after deleting many is dear on ext4 and would be
// what is measured.
func BenchmarkCreate10000(b *testing.B) {
	s := newScene(b)
	benchTree(b, s, 10_000)
	var ratios, own, cp []float64
	for i := range b.N {
		s.req.Dir = fmt.Sprintf("%s/copytree-%d-%d", s.base, b.N, i)
		must(b, os.Mkdir(s.req.Dir, 0o700))
		start := time.Now()
		_, err := s.strat.Create(b.Context(), s.req)
		must(b, err)
		mine := time.Since(start)
		start = time.Now()
		must(b, exec.Command("cp", "-a", s.src, fmt.Sprintf("%s/cp-%d-%d", s.base, b.N, i)).Run())
		theirs := time.Since(start)
		own, cp = append(own, mine.Seconds()*1000), append(cp, theirs.Seconds()*1000)
		ratios = append(ratios, mine.Seconds()/theirs.Seconds())
	}
	for name, v := range map[string][]float64{"create-ms": own, "cp-a-ms": cp, "create/cp-a": ratios} {
		slices.Sort(v)
		b.ReportMetric(v[len(v)/2], name)
	}
}

func BenchmarkStates10000(b *testing.B) {
	s := newScene(b)
	benchTree(b, s, 10_000)
	sb := s.create()
	b.Run("first-checkpoint", func(b *testing.B) {
		for i := range b.N {
			if i > 0 {
				b.Skip("there is only one first")
			}
			must(b, sb.Checkpoint(b.Context(), fmt.Sprintf("first%d", b.N)))
		}
	})
	b.Run("next-checkpoint", func(b *testing.B) {
		for i := range b.N {
			for k := range 100 {
				must(b, os.WriteFile(fmt.Sprintf("%s/d000/new%d", s.tree(), k), fmt.Appendf(nil, "%d %d %d", b.N, i, k), 0o644))
			}
			must(b, sb.Checkpoint(b.Context(), fmt.Sprintf("next%d-%d", b.N, i)))
		}
	})
	b.Run("changes", func(b *testing.B) {
		for b.Loop() {
			_, src, err := sb.Changes(b.Context(), engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
			must(b, err)
			must(b, src.(*source).Close())
		}
	})
	b.Run("restore", func(b *testing.B) {
		for i := range b.N {
			must(b, os.WriteFile(s.tree()+"/d000/mark", fmt.Append(nil, i), 0o644))
			must(b, sb.Rollback(b.Context()))
		}
	})
}
