package changeset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// node is one entry of a tree held in memory.
type node struct {
	kind Kind
	mode uint32
	data string // contents or link text
}

// tree maps paths to entries; every folder on the way is an entry, too.
type tree map[string]node

func file(data string) node  { return node{File, 0o644, data} }
func prog(data string) node  { return node{File, 0o755, data} }
func link(text string) node  { return node{Symlink, 0o777, text} }
func dirNode() node          { return node{Dir, 0o755, ""} }
func (t tree) clone() tree   { return t.with(nil) }
func hashOf(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }

func (t tree) with(more tree) tree {
	out := tree{}
	for k, v := range t {
		out[k] = v
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// parents adds the folders that the paths need.
func (t tree) parents() tree {
	for p := range t.clone() {
		for {
			i := strings.LastIndexByte(p, '/')
			if i < 0 {
				break
			}
			p = p[:i]
			t[p] = dirNode()
		}
	}
	return t
}

func (n node) entry() *Entry {
	e := &Entry{Kind: n.kind, Mode: n.mode}
	switch n.kind {
	case File:
		e.Size, e.Hash = int64(len(n.data)), hashOf(n.data)
	case Symlink:
		e.Link = n.data
	case Dir:
	}
	return e
}

// pairSource serves the two trees a set was made of.
type pairSource struct{ before, after tree }

func (s pairSource) Open(side Side, p string) (io.ReadCloser, error) {
	t := s.before
	if side == After {
		t = s.after
	}
	n, ok := t[p]
	if !ok || n.kind != File {
		return nil, fault.New(fault.Stale, "", "%q is gone", p)
	}
	return io.NopCloser(strings.NewReader(n.data)), nil
}

// compare is the obvious model of what strategies do.
func compare(before, after tree) (*Set, pairSource) {
	s := &Set{Resource: "r", Root: "/r", Type: "fs-directory"}
	for p, a := range after {
		b, ok := before[p]
		switch {
		case !ok:
			s.Changes = append(s.Changes, Change{Path: p, Op: Created, After: a.entry()})
		case !a.entry().Same(b.entry()):
			s.Changes = append(s.Changes, Change{Path: p, Op: Modified, Before: b.entry(), After: a.entry()})
		}
	}
	for p, b := range before {
		if _, ok := after[p]; !ok {
			s.Changes = append(s.Changes, Change{Path: p, Op: Deleted, Before: b.entry()})
		}
	}
	s.Sort()
	return s, pairSource{before, after}
}

// carry applies a set to a tree as data, folder by folder.
func carry(t tree, s *Set, src pairSource) (tree, error) {
	split := &Set{Changes: append([]Change(nil), s.Changes...)}
	SplitRenames(split)
	out := t.clone()
	for i := len(split.Changes) - 1; i >= 0; i-- { // deletions, deepest first
		c := split.Changes[i]
		if c.Before != nil && (c.After == nil || c.After.Kind != c.Before.Kind) {
			for p := range out {
				if strings.HasPrefix(p, c.Path+"/") {
					return nil, fmt.Errorf("%q goes while %q is there", c.Path, p)
				}
			}
			delete(out, c.Path)
		}
	}
	for _, c := range split.Changes {
		if c.After == nil {
			continue
		}
		if i := strings.LastIndexByte(c.Path, '/'); i >= 0 && out[c.Path[:i]].kind != Dir {
			return nil, fmt.Errorf("%q comes without its folder", c.Path)
		}
		out[c.Path] = src.after[c.Path]
	}
	return out, nil
}

func sameTree(a, b tree) string {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	for _, k := range sortedKeys(keys) {
		if a[k] != b[k] {
			return fmt.Sprintf("%q: %+v, want %+v", k, a[k], b[k])
		}
	}
	return ""
}

// write puts a tree on disk; read takes it back without empty folders, with
// git's two file modes.
func (t tree) write(tb testing.TB, dir string) {
	tb.Helper()
	paths := sortedKeys(t)
	for _, p := range paths {
		full := filepath.Join(dir, p)
		n := t[p]
		var err error
		switch n.kind {
		case Dir:
			err = os.MkdirAll(full, 0o755)
		case Symlink:
			err = os.Symlink(n.data, full)
		case File:
			if err = os.WriteFile(full, []byte(n.data), 0o600); err == nil {
				err = os.Chmod(full, os.FileMode(n.mode))
			}
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func readTree(tb testing.TB, dir string) tree {
	tb.Helper()
	t := tree{}
	err := filepath.Walk(dir, func(full string, info os.FileInfo, err error) error {
		if err != nil || full == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, full)
		if rel == ".git" {
			return filepath.SkipDir
		}
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			text, err := os.Readlink(full)
			if err != nil {
				return err
			}
			t[rel] = link(text)
		case info.Mode().IsRegular():
			data, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			n := file(string(data))
			if info.Mode()&0o100 != 0 {
				n.mode = 0o755
			}
			t[rel] = n
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// contentsOnly drops folders, which git does not know.
func contentsOnly(t tree) tree {
	out := tree{}
	for p, n := range t {
		if n.kind != Dir {
			out[p] = n
		}
	}
	return out
}

// gitApply applies a patch with the real git in a folder that is no repository,
// without any configuration of the machine's.
func gitApply(tb testing.TB, dir string, patch []byte, args ...string) error {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("git is not installed")
	}
	cmd := exec.Command("git", append([]string{"apply", "--whitespace=nowarn"}, args...)...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(patch)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + dir, "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git apply: %w\n%s", err, out)
	}
	return nil
}

func unified(tb testing.TB, s *Set, src Source, opts DiffOptions) string {
	tb.Helper()
	var b bytes.Buffer
	if err := Unified(tb.Context(), &b, s, src, opts); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func paths(s *Set) []string {
	var out []string
	for _, c := range s.Changes {
		out = append(out, c.Path)
	}
	sort.Strings(out)
	return out
}

func mkdir(tb testing.TB, parts ...string) string {
	tb.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func getenv(name string) string { return os.Getenv(name) }
