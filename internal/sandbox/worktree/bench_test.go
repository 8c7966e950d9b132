//go:build linux

package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
	"github.com/ambit-run/ambit/internal/sandbox/worktree"
)

// BenchmarkCreate makes and removes a sandbox over 10,000 files, beside what a
// person would use instead.
func BenchmarkCreate(b *testing.B) {
	r := gittest.New(b)
	for i := range 10_000 {
		r.Write(fmt.Sprintf("d%02d/e%d/f%04d.go", i%100, i%7, i), fmt.Sprintf("package p\n\n// %d\n%0*d\n", i, i%3000, i))
	}
	head := r.Commit("many")
	git := gittest.Git(b)
	b.Run("git_worktree", func(b *testing.B) {
		strat := worktree.New(worktree.Options{Git: git})
		state := b.TempDir()
		for i := 0; b.Loop(); i++ {
			plan := fmt.Sprintf("p-%d", i)
			dir := filepath.Join(state, plan)
			if err := os.Mkdir(dir, 0o700); err != nil {
				b.Fatal(err)
			}
			sb, err := strat.Create(b.Context(), engine.CreateRequest{
				Plan: plan, ID: "s1", Dir: dir, Confined: true, Dirty: engine.DirtyCarry,
				Resource: engine.Resource{
					Name: "repo", Type: engine.TypeGitCheckout, Path: r.Dir,
					Git: &engine.GitInfo{GitDir: r.Dir + "/.git", CommonDir: r.Dir + "/.git", Head: head, Branch: "refs/heads/main"},
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if i == 0 {
				b.Logf("phases in ms: %v", sb.Info().Timings)
			}
			if err := sb.Destroy(b.Context(), false); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
	b.Run("git worktree add", func(b *testing.B) {
		dir := b.TempDir()
		for i := 0; b.Loop(); i++ {
			wt := filepath.Join(dir, fmt.Sprint(i))
			r.Git("worktree", "add", "-q", "--detach", wt)
			b.StopTimer()
			r.Git("worktree", "remove", "--force", wt)
			b.StartTimer()
		}
	})
}
