//go:build linux

package crash

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// recoverAndCheck runs recover to its end and looks at everything a crash could
// have left.
func (w *world) recoverAndCheck() {
	w.t.Helper()
	w.must("recover")
	w.checkWhole()
	w.checkClean()
}

// checkWhole: every resource is old or new, and both are the same age.
func (w *world) checkWhole() {
	w.t.Helper()
	repo, dir := w.treeHash(w.repo), w.treeHash(w.dir)
	oldRepo, oldDir := repo == w.oldRepo, dir == w.oldDir
	if oldRepo != oldDir {
		w.t.Fatalf("half applied: repo old=%v, dir old=%v", oldRepo, oldDir)
	}
	if !oldRepo && !w.looksNew() {
		w.t.Fatalf("neither old nor new:\n%s", w.git("status", "--porcelain"))
	}
	if st := w.git("status", "--porcelain"); st != "" {
		w.t.Fatalf("git status is not clean:\n%s", st)
	}
}

// looksNew checks the contents that the three steps make.
func (w *world) looksNew() bool {
	for _, root := range []string{w.repo, w.dir} {
		for i := 1; i <= filesPerStep; i++ {
			n := strconv.Itoa(i)
			raw, err := os.ReadFile(filepath.Join(root, "f"+n+".txt"))
			if err != nil || string(raw) != "line f"+n+".txt\none "+n+"\n" {
				return false
			}
		}
		if to, err := os.Readlink(filepath.Join(root, "link")); err != nil || to != "f1.txt" {
			return false
		}
		if info, err := os.Stat(filepath.Join(root, "f2.txt")); err != nil || info.Mode().Perm() != 0o755 {
			return false
		}
		if _, err := os.Lstat(filepath.Join(root, "f30.txt")); !os.IsNotExist(err) {
			return false
		}
	}
	moved, err := os.ReadFile(filepath.Join(w.repo, "moved.txt"))
	if err != nil || string(moved) != "line f29.txt\n" {
		return false
	}
	info, err := os.Stat(filepath.Join(w.dir, "f29.txt"))
	return err == nil && info.IsDir()
}

// checkClean: nothing is left that no plan owns.
func (w *world) checkClean() {
	w.t.Helper()
	if m := w.mounts(); len(m) > 0 {
		w.t.Fatalf("mounts are left: %q", m)
	}
	if out := w.git("fsck", "--full", "--strict"); strings.Contains(out, "error") || strings.Contains(out, "missing") {
		w.t.Fatalf("git fsck: %s", out)
	}
	if out := w.git("worktree", "list", "--porcelain"); strings.Count(out, "worktree ") != 1 {
		w.t.Fatalf("work trees are left:\n%s", out)
	}
	if out := w.git("for-each-ref", "--format=%(refname)"); strings.TrimSpace(out) != "refs/heads/main" {
		w.t.Fatalf("refs are left:\n%s", out)
	}
	for _, lock := range []string{"index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"} {
		if _, err := os.Lstat(filepath.Join(w.repo, ".git", lock)); err == nil {
			w.t.Fatalf("%s is left", lock)
		}
	}
	for _, root := range []string{w.repo, w.dir} {
		entries, err := os.ReadDir(root)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".ambit") {
				w.t.Fatalf("%s is left in %s", e.Name(), root)
			}
		}
	}
	w.checkFolders()
}

// checkFolders: each folder below plans/ belongs to a plan that ps lists.
func (w *world) checkFolders() {
	w.t.Helper()
	obj := w.must("ps", "--all")
	known := map[string]bool{}
	for _, p := range obj["plans"].([]any) {
		known[p.(map[string]any)["id"].(string)] = true
	}
	entries, err := os.ReadDir(filepath.Join(w.home, "plans"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			w.t.Fatalf("folder plans/%s belongs to no plan", e.Name())
		}
	}
}

// finish carries the plan on to its end: whatever was done is still there, what
// is missing can be done, and afterwards no process remains.
func (w *world) finish() {
	w.t.Helper()
	if w.plan() == "" { // killed before anything was staged: start afresh
		w.must(w.runArgs()...)
	}
	id := w.plan()
	switch st := w.status(); st {
	case "ready", "interrupted", "failed":
		w.must("run", "--resume", id)
	}
	if w.status() != "applied" {
		w.must("apply", id, "--yes")
	}
	if !w.looksNew() {
		plan, _ := w.ambit("status", id)
		w.t.Fatalf("after carrying on, the result is not the new state:\n%s\n%v", w.git("log", "--stat", "--oneline"), plan["plan"].(map[string]any)["steps"])
	}
	w.must("undo", id, "--yes")
	if w.treeHash(w.repo) != w.oldRepo || w.treeHash(w.dir) != w.oldDir {
		w.t.Fatalf("after undo the trees are not as they were:\n%s", w.git("status", "--porcelain"))
	}
	w.checkWhole()
	w.must("discard", id, "--yes")
	w.checkClean()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		ps := w.processes()
		if len(ps) == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("processes are left:\n%s", strings.Join(ps, "\n"))
		}
	}
}
