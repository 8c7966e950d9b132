package tree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// benchWorlds have 100 files of 7 KB that change, among as many that do not.
func benchWorlds(changed int) (before, after world) {
	before, after = world{}, world{}
	old, fresh := strings.Repeat("seven bytes ", 600), strings.Repeat("SEVEN BYTES ", 600)
	for i := range 2 * changed {
		p := fmt.Sprintf("d%d/f%d", i/10, i)
		before[p] = file(old)
		after[p] = file(old)
		if i < changed {
			after[p] = file(fmt.Sprint(i) + fresh)
		}
	}
	return before.parents(), after.parents()
}

// BenchmarkApply carries 100 changed files of 7 KB into a directory, against what
// a person would do: cp of the same files and an fsync of each.
func BenchmarkApply(b *testing.B) {
	before, after := benchWorlds(100)
	b.Run("ambit", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			f := newFixture(b, fmt.Sprintf("%s/plan%d", b.TempDir(), i), before, after)
			_ = exec.CommandContext(b.Context(), "sync").Run()
			b.StartTimer()
			state := f.prepare()
			check(b, f.tgt.Commit(b.Context(), state))
		}
	})
	b.Run("ambit verified", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			f := newFixture(b, fmt.Sprintf("%s/plan%d", b.TempDir(), i), before, after)
			_ = exec.CommandContext(b.Context(), "sync").Run()
			b.StartTimer()
			state := f.prepare()
			check(b, f.tgt.Commit(b.Context(), state))
			check(b, f.tgt.Verify(b.Context(), state))
		}
	})
	b.Run("cp and fsync", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			f := newFixture(b, b.TempDir()+"/plan", before, after)
			var names []string
			for _, c := range diff(before, after).Changes {
				names = append(names, c.Path)
			}
			changed := world{}
			for _, n := range names {
				changed[n] = after[n]
			}
			changed.parents().build(b, f.plan+"/new")
			_ = exec.CommandContext(b.Context(), "sync").Run()
			b.StartTimer()
			check(b, run(b.Context(), f.plan+"/new", "cp", append(append([]string{"--parents"}, names...), f.root)...))
			check(b, run(b.Context(), f.root, "sync", names...))
		}
	})
}

// run runs a command in a folder; sync(1) with names calls fsync on each.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	return cmd.Run()
}

// TestApplyGrowsWithTheChange: calls and allocations are proportional to what
// changes, whatever else the target holds.
func TestApplyGrowsWithTheChange(t *testing.T) {
	t.Parallel()
	cost := func(changed int) float64 {
		before, after := benchWorlds(changed)
		mem := inMemory(t)
		f := fixtureIn(t, mem, mem+"/plan", before, after)
		tgt, calls := failing(0, false) // never fails, counts
		f.tgt = tgt
		state := f.prepare()
		check(t, f.tgt.Commit(t.Context(), state))
		return float64(calls.Load()) / float64(changed)
	}
	small, large := cost(20), cost(400)
	if large > small*1.2 || large > 60 {
		t.Errorf("%.1f file-system calls per changed file with 20, %.1f with 400", small, large)
	}
	t.Logf("%.1f and %.1f file-system calls per changed file", small, large)
}
