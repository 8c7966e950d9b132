package overlay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
)

// fill makes n files of a few hundred bytes, a hundred to a directory.
func fill(b *testing.B, dir string, n int) {
	b.Helper()
	for i := range n {
		d := filepath.Join(dir, fmt.Sprintf("d%03d/e%02d", i/1000, i/100%10))
		if i%100 == 0 {
			if err := os.MkdirAll(d, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(d, fmt.Sprintf("f%02d.txt", i%100)), []byte(strings.Repeat(fmt.Sprintf("%d\n", i), 40)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSize: what grows with the tree and what does not.
//
//	go test ./internal/sandbox/overlay -run - -bench Size -benchtime 20x
func BenchmarkSize(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			p := plain(b)
			fill(b, p.dir, n)
			b.Run("directory", func(b *testing.B) { lifeOf(b, p, false) })

			r := gittest.New(b)
			fill(b, r.Dir, n)
			r.Commit("one")
			b.Run("checkout-live", func(b *testing.B) { lifeOf(b, checkout(b, r, engine.LowerLive), false) })
			f := checkout(b, r, engine.LowerFrozen)
			b.Run("frozen-first", func(b *testing.B) {
				for range b.N {
					x := f.sibling("first").create()
					b.StopTimer()
					x.must(x.sb.Destroy(b.Context(), true))
					x.must(os.RemoveAll(x.req.BasesDir))
					b.StartTimer()
				}
			})
			b.Run("frozen", func(b *testing.B) { lifeOf(b, f, true) })
		})
	}
}

// lifeOf measures the steps of a sandbox's life over one tree.
func lifeOf(b *testing.B, p *box, frozen bool) {
	b.Helper()
	b.Run("probe", func(b *testing.B) {
		x := p.sibling("probed")
		for range b.N {
			if res := x.probe(); !res.OK {
				b.Fatal(res)
			}
		}
	})
	b.Run("create", func(b *testing.B) {
		if frozen { // the base is there from the second time on
			p.must(p.sibling("warm").create().sb.Destroy(b.Context(), true))
		}
		for i := range b.N {
			x := p.sibling(fmt.Sprintf("c%d", i)).create()
			b.StopTimer()
			x.must(x.sb.Destroy(b.Context(), true))
			b.StartTimer()
		}
	})
	x := p.sibling("lived").create()
	defer func() { x.must(x.sb.Destroy(b.Context(), true)) }()
	b.Run("enter", func(b *testing.B) {
		for range b.N {
			if _, err := x.sb.Enter(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	// A hundred changes: edits, new files, deletions, renames.
	x.inside(`i=0; for d in d000/e*; do for f in 10 11 12 13; do echo edit >> $d/f$f.txt; done
		echo new > $d/new1; echo new > $d/new2; rm $d/f20.txt $d/f21.txt; mv $d/f30.txt $d/moved; done`)
	b.Run("changes-100", func(b *testing.B) {
		for range b.N {
			set, _ := x.changes(engine.ChangeOptions{SkipDrift: true})
			if len(set.Changes) != 90 {
				b.Fatalf("%d changes", len(set.Changes))
			}
		}
	})
	if !frozen {
		b.Run("changes-100-with-drift", func(b *testing.B) {
			for range b.N {
				x.changes(engine.ChangeOptions{})
			}
		})
	}
	b.Run("checkpoint", func(b *testing.B) {
		for i := range b.N {
			b.StopTimer()
			x.inside("echo more >> d000/e00/f00.txt")
			b.StartTimer()
			x.must(x.sb.Checkpoint(b.Context(), fmt.Sprintf("cp%d-%d", b.N, i)))
			b.StopTimer()
			x.must(x.sb.Rollback(b.Context()))
			b.StartTimer()
		}
	})
	b.Run("restore", func(b *testing.B) {
		x.must(x.sb.Checkpoint(b.Context(), fmt.Sprintf("r%d", b.N)))
		for range b.N {
			b.StopTimer()
			x.inside("echo more >> d000/e00/f00.txt")
			b.StartTimer()
			x.must(x.sb.Restore(b.Context(), fmt.Sprintf("r%d", b.N)))
		}
	})
}
