package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// changes is how many files a change touches in the jobs about changes.
const changes = 100

// size runs every job over a tree of n files.
func (b *bench) size(n int) error {
	fmt.Fprintf(b.out, "### %d files\n\n", n)
	plain := filepath.Join(b.dir, fmt.Sprintf("plain-%d", n))
	repo := filepath.Join(b.dir, fmt.Sprintf("repo-%d", n))
	state := "AMBIT_HOME=" + filepath.Join(b.dir, fmt.Sprintf("state-%d", n))
	if err := grow(plain, n); err != nil {
		return err
	}
	if err := grow(repo, n); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "b"}, {"config", "user.email", "b@example.com"}, {"config", "gc.auto", "0"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
		if err := command(repo, nil, "git", args...); err != nil {
			return err
		}
	}
	env := []string{state}
	for _, job := range []func(plain, repo string, env []string) error{b.tryRepo, b.tryPlain, b.enter, b.diff, b.apply} {
		if err := job(plain, repo, env); err != nil {
			return err
		}
	}
	return nil
}

// grow makes a tree of n small text files, a hundred to a folder.
func grow(dir string, n int) error {
	for i := range n {
		at := filepath.Join(dir, fmt.Sprintf("d%04d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(at, 0o755); err != nil {
				return err
			}
		}
		text := fmt.Sprintf("file %d\n%s", i, strings.Repeat("some text that is like the text of other files\n", 20))
		if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("f%06d.txt", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// touch is the shell command that changes a hundred files.
func touch(n int) string {
	return fmt.Sprintf("for i in $(seq 0 %d %d); do echo changed >> $(printf 'd%%04d/f%%06d.txt' $((i/100)) $i); done", max(1, n/changes), max(1, n/changes)*(changes-1))
}

func count(tree string) int {
	entries, err := filepath.Glob(filepath.Join(tree, "d*", "*"))
	if err != nil {
		return 0
	}
	return len(entries)
}

func (b *bench) tryRepo(_, repo string, env []string) error {
	wt := filepath.Join(b.dir, "wt")
	return b.job("a sandbox of a repository, one command in it, and away with it", []contender{
		{name: "ambit try --discard -- true", do: func() error { return command(repo, env, b.ambit, "try", "--discard", "--", "true") }},
		{
			name:  "git worktree add (nothing is confined)",
			do:    func() error { return command(repo, nil, "git", "worktree", "add", "-q", "--detach", wt) },
			after: func() error { return command(repo, nil, "git", "worktree", "remove", "--force", wt) },
		},
	})
}

func (b *bench) tryPlain(plain, _ string, env []string) error {
	dst := filepath.Join(b.dir, "copy")
	remove := func() error { return os.RemoveAll(dst) }
	return b.job("a sandbox of a directory, one command in it, and away with it", []contender{
		{name: "ambit try --discard -- true", do: func() error { return command(plain, env, b.ambit, "try", "--discard", "--", "true") }},
		{name: "cp -a (nothing is confined)", do: func() error { return command(b.dir, nil, "cp", "-a", plain, dst) }, after: remove},
		{name: "cp -a --reflink=auto", do: func() error { return command(b.dir, nil, "cp", "-a", "--reflink=auto", plain, dst) }, after: remove},
	})
}

// plan makes a plan that is kept, with the command run in it, and returns its id.
func (b *bench) plan(dir string, env []string, script string) (string, error) {
	text, err := output(dir, env, b.ambit, "try", "--keep", "--json", "--", "sh", "-c", script)
	if err != nil {
		return "", err
	}
	var r struct{ Plan struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Plan.ID == "" {
		return "", fmt.Errorf("no plan id in %q: %w", text, err)
	}
	return r.Plan.ID, nil
}

func (b *bench) discard(dir string, env []string, id string) error {
	return command(dir, env, b.ambit, "discard", id, "--yes")
}

func (b *bench) enter(_, repo string, env []string) error {
	id, err := b.plan(repo, env, "true")
	if err != nil {
		return err
	}
	bwrap := contender{name: "bwrap --unshare-all … true"}
	if _, err := exec.LookPath("bwrap"); err != nil {
		bwrap.missing = "bubblewrap is not installed"
	}
	bwrap.do = func() error {
		return command(repo, nil, "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", repo, repo, "--chdir", repo, "true")
	}
	err = b.job("one more command in a live plan", []contender{
		{name: "ambit exec PLAN -- true", do: func() error { return command(repo, env, b.ambit, "exec", id, "--", "true") }},
		bwrap,
		{name: "true, not confined", do: func() error { return command(repo, nil, "true") }},
	})
	if err != nil {
		return err
	}
	return b.discard(repo, env, id)
}

func (b *bench) diff(_, repo string, env []string) error {
	script := touch(count(repo))
	id, err := b.plan(repo, env, script)
	if err != nil {
		return err
	}
	wt := filepath.Join(b.dir, "wt")
	if err := command(repo, nil, "git", "worktree", "add", "-q", "--detach", wt); err != nil {
		return err
	}
	if err := command(wt, nil, "sh", "-c", script); err != nil {
		return err
	}
	err = b.job(fmt.Sprintf("what changed, %d files", changes), []contender{
		{name: "ambit diff --stat", do: func() error { return command(repo, env, b.ambit, "diff", "--stat", id) }},
		{name: "git status --porcelain in a worktree", do: func() error { return command(wt, nil, "git", "status", "--porcelain") }},
		{name: "git diff --stat in a worktree", do: func() error { return command(wt, nil, "git", "diff", "--stat") }},
	})
	if err != nil {
		return err
	}
	if err := command(repo, nil, "git", "worktree", "remove", "--force", wt); err != nil {
		return err
	}
	return b.discard(repo, env, id)
}

func (b *bench) apply(plain, _ string, env []string) error {
	script := touch(count(plain))
	var id string
	src, dst := filepath.Join(b.dir, "changed"), filepath.Join(b.dir, "target")
	return b.job(fmt.Sprintf("carry %d changed files into the real tree, durably", changes), []contender{
		{
			name:   "ambit apply",
			before: func() (err error) { id, err = b.plan(plain, env, script); return err },
			do:     func() error { return command(plain, env, b.ambit, "apply", id, "--yes") },
			after: func() error {
				if err := command(plain, env, b.ambit, "undo", id, "--yes"); err != nil {
					return err
				}
				return b.discard(plain, env, id)
			},
		},
		{
			name: "cp of those files, then sync of each (no check, no way back)",
			before: func() error {
				if err := os.MkdirAll(dst, 0o755); err != nil {
					return err
				}
				return grow(src, changes)
			},
			do: func() error {
				return command(b.dir, nil, "sh", "-c", "cp -a "+src+"/. "+dst+"/ && find "+dst+" -type f -exec sync {} +")
			},
			after: func() error { return os.RemoveAll(dst) },
		},
	})
}
