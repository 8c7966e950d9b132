package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/engine"
)

// TestApplyThenUndoIsIdentity: on random trees with random edits on both sides,
// an apply that is accepted and then undone leaves references, reflogs, index,
// status and files as they were; and what it applied is the sandbox's tree where
// nobody else had changed anything.
func TestApplyThenUndoIsIdentity(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "d", "d/x", "d/y", "d/e/z", "sp ace", "new\nline", "\xff\xfe", "-dash", ":(glob)", "ü", "run.sh", "deep/er/still/f"}
	rapid.Check(t, func(rt *rapid.T) {
		s := &scene{}
		*s = *newScene(t, "base", "b")
		mutate := func(label, dir string, n int) {
			for i := range rapid.IntRange(0, n).Draw(rt, label) {
				path := filepath.Join(dir, rapid.SampledFrom(names).Draw(rt, fmt.Sprintf("%s %d", label, i)))
				switch rapid.SampledFrom([]string{"write", "write", "exec", "link", "remove"}).Draw(rt, "op") {
				case "remove":
					_ = os.RemoveAll(path)
				case "link":
					if place(path) {
						_ = os.Symlink(rapid.SampledFrom([]string{"base", "/etc", "nowhere", "d"}).Draw(rt, "target"), path)
					}
				case "exec":
					if place(path) {
						_ = os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755)
					}
				default:
					if place(path) {
						_ = os.WriteFile(path, []byte(rapid.SampledFrom([]string{"", "1\n", "2\n", "\x00bin"}).Draw(rt, "data")), 0o644)
					}
				}
			}
		}
		mutate("base", s.real.Dir, 6)
		s.base = s.real.Commit("base")
		if err := os.RemoveAll(s.box.Dir); err != nil {
			rt.Fatal(err)
		}
		s.sandbox()
		for step := range rapid.IntRange(1, 2).Draw(rt, "steps") {
			mutate("step", s.box.Dir, 5)
			s.box.Commit(fmt.Sprintf("step %d", step))
		}
		moved := rapid.Bool().Draw(rt, "moved")
		if moved {
			mutate("mine", s.real.Dir, 3)
			s.real.Commit("mine")
		}
		dirty := rapid.Bool().Draw(rt, "dirty")
		if dirty {
			mutate("dirty", s.real.Dir, 2)
		}
		req := s.request(rapid.Bool().Draw(rt, "history"))
		req.Squash = rapid.Bool().Draw(rt, "squash")
		req.Merge = rapid.Bool().Draw(rt, "merge")
		before, tree := s.real.State(), list(t, s.real.Dir)
		tg := s.target(engine.ToCommit)
		state, err := tg.Prepare(t.Context(), req)
		if s.real.State() != before || list(t, s.real.Dir) != tree {
			rt.Fatal("prepare changed something")
		}
		if err != nil {
			s.noLeftovers()
			return
		}
		if err := tg.Commit(t.Context(), state); err != nil {
			rt.Fatalf("commit: %v", err)
		}
		if err := tg.Verify(t.Context(), state); err != nil {
			rt.Fatalf("verify: %v", err)
		}
		if !moved && !dirty {
			want := s.box.Git("ls-tree", "-r", "HEAD")
			{
				if got := s.real.Git("ls-tree", "-r", "HEAD"); got != want {
					rt.Fatalf("applied\n%s\nwant\n%s", got, want)
				}
			}
			if out := s.real.Git("status", "--porcelain"); out != "" {
				rt.Fatalf("status: %s", out)
			}
		}
		if err := tg.CheckUndo(t.Context(), state); err != nil {
			rt.Fatalf("check undo: %v", err)
		}
		if err := tg.Undo(t.Context(), state); err != nil {
			rt.Fatalf("undo: %v", err)
		}
		if got := s.real.State(); got != before {
			rt.Fatalf("undo left\n%s\n--- want\n%s", got, before)
		}
		if got := list(t, s.real.Dir); got != tree {
			rt.Fatalf("undo left\n%s\n--- want\n%s", got, tree)
		}
		s.noLeftovers()
	})
}

// place makes room for a path: its parents become directories, whatever they were.
func place(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() {
			break
		}
		if err == nil {
			if os.Remove(dir) != nil {
				return false
			}
		}
	}
	_ = os.RemoveAll(path)
	return os.MkdirAll(filepath.Dir(path), 0o755) == nil
}
