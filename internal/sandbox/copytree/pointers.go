package copytree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ambit-run/ambit/internal/fsop"
)

// smallFile bounds pointers, alternates and configuration files that are read
// whole: git's own are far below it.
const smallFile = 4 << 20

// mend makes the `.git` file of a repository inside the copy (a submodule, a
// linked worktree kept in the tree) lead to the copy of its git directory, or
// nowhere, but never back to the original's (O57).
func (g *gitCopy) mend(tree *fsop.Dir, pointer string) error {
	raw, err := fsop.ReadFile(tree, pointer, smallFile)
	if err != nil {
		return err
	}
	text, ok := strings.CutPrefix(strings.TrimRight(string(raw), "\r\n"), "gitdir: ")
	if !ok {
		return nil // git does not take it for a pointer
	}
	dir, _ := fsop.SplitRel(pointer)
	target := text
	if !filepath.IsAbs(target) {
		target = filepath.Join(g.c.req.Resource.Path, dir, text)
	}
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	at, inside := g.inCopy(target)
	to := "left-out-of-the-copy.git" // names nothing, so git says that this is no repository
	if inside {
		if to, err = filepath.Rel("/"+dir, "/"+at); err != nil {
			return fmt.Errorf("spell the way to its git directory: %w", err)
		}
		_, err = tree.Stat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		inside = err == nil
	}
	if !inside {
		g.c.notice("%s belongs to a repository whose git directory is not part of the copy: git does not work there", dir)
	}
	if to != text {
		if err := g.rewrite(tree, pointer, []byte("gitdir: "+to+"\n")); err != nil {
			return err
		}
	}
	if !inside {
		return nil
	}
	// A submodule's git directory names its work tree.
	back, err := filepath.Rel("/"+at, "/"+dir)
	if err != nil {
		return fmt.Errorf("spell the way to its work tree: %w", err)
	}
	return g.pinWorkTree(tree, at, back, false)
}

// inCopy tells where in the copy a path of the original lies.
func (g *gitCopy) inCopy(target string) (string, bool) {
	for _, m := range [][2]string{
		{g.info.GitDir, gitName}, {g.info.CommonDir, gitName}, {g.c.req.Resource.Path, "."},
	} {
		if target == m[0] {
			return m[1], true
		}
		if rel, ok := strings.CutPrefix(target, strings.TrimSuffix(m[0], "/")+"/"); ok {
			return fsop.Join(m[1], rel), true
		}
	}
	return "", false
}

// rewrite replaces a file and keeps its mode and time.
func (g *gitCopy) rewrite(tree *fsop.Dir, path string, data []byte) error {
	info, err := tree.Stat(path)
	if err != nil {
		return err
	}
	delete(g.c.known, path)
	if err := writeNew(tree, path, data, info.Mode); err != nil {
		return err
	}
	return tree.Chtimes(path, time.Unix(0, info.Mtime.UnixNano()))
}

// pinWorkTree makes the configuration of a copied git directory name the copy as
// its work tree, where it names any. The last value of a setting counts, so it
// is added at the end. always does so in any case, and says that there is a work
// tree: the repository of a linked worktree may be bare.
func (g *gitCopy) pinWorkTree(tree *fsop.Dir, gitDir, workTree string, always bool) error {
	add := fmt.Sprintf("\n[core]\n\tworktree = %s\n", quoteConfig(workTree))
	if always {
		add = fmt.Sprintf("\n[core]\n\tbare = false\n\tworktree = %s\n", quoteConfig(workTree))
	}
	for _, name := range []string{"config", "config.worktree"} {
		path := gitDir + "/" + name
		raw, err := fsop.ReadFile(tree, path, smallFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		low := bytes.ToLower(raw)
		// An included file may name it, too.
		names := bytes.Contains(low, []byte("worktree")) || bytes.Contains(low, []byte("include"))
		if !names && !(always && name == "config") {
			continue
		}
		if bytes.HasSuffix(raw, []byte(add)) {
			continue
		}
		if err := g.rewrite(tree, path, append(raw, add...)); err != nil {
			return err
		}
	}
	return nil
}

// quoteConfig spells a value for a git configuration file.
func quoteConfig(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(v) + `"`
}

// alternates lists the object directories that one borrows from, all the way
// down; git follows five levels.
func alternates(objects string) ([]string, error) {
	var out []string
	seen := map[string]bool{filepath.Clean(objects): true}
	var follow func(dir string, depth int) error
	follow = func(dir string, depth int) error {
		raw, err := readSmall(filepath.Join(dir, "info", "alternates"))
		if err != nil || depth == 5 {
			return err
		}
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimRight(line, "\r\n")
			if line == "" || line[0] == '#' {
				continue
			}
			if !filepath.IsAbs(line) {
				line = filepath.Join(dir, line)
			}
			if line = filepath.Clean(line); seen[line] {
				continue
			}
			seen[line] = true
			if info, err := os.Stat(line); err != nil || !info.IsDir() {
				continue // git does without it, too
			}
			out = append(out, line)
			if err := follow(line, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return out, follow(objects, 0)
}

// readSmall reads a file of the person's own repository; absent is empty.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	return io.ReadAll(io.LimitReader(f, smallFile))
}
