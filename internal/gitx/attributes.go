package gitx

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// WithAttributes returns a copy for which an attributes file that Flatten made
// counts everywhere.
func (r *Repo) WithAttributes(file string) *Repo {
	c := *r
	c.settings = append(append([]setting{}, r.settings...), setting{"core.attributesFile", file})
	return &c
}

// Flatten writes all .gitattributes files of a tree into one file, so that a
// merge without index or work tree goes by them. The last matching line wins, as
// the deepest file does in git.
func (r *Repo) Flatten(ctx context.Context, treeish, file string) error {
	entries, err := r.Tree(ctx, treeish)
	if err != nil {
		return err
	}
	var dirs, ids []string
	// Tree order puts "a/b" before "a/b/c" only by name; depth decides here.
	for depth, left := 0, true; left; depth++ {
		left = false
		for _, e := range entries {
			dir, ok := attributesDir(e)
			switch n := strings.Count(dir, "/"); {
			case !ok || n < depth:
			case n > depth:
				left = true
			default:
				dirs, ids = append(dirs, dir), append(ids, e.ID)
			}
		}
	}
	var b bytes.Buffer
	err = r.CatFiles(ctx, ids, func(i int, o Object) error {
		if o.Size > maxAttributes { // git ignores such files, too
			return nil
		}
		data, err := io.ReadAll(o.R)
		if err != nil {
			return err
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			if l, ok := anchor(dirs[i], line); ok {
				b.WriteString(l + "\n")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if own := filepath.Join(r.loc.CommonDir, "info", "attributes"); isRegular(own) {
		data, err := os.ReadFile(own)
		if err != nil {
			return fault.Wrap(fileCode(err), "read attributes", err)
		}
		b.Write(data) // last: the repository's own file wins over those in the tree
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		return fault.Wrap(fileCode(err), "write attributes", err)
	}
	return nil
}

// maxAttributes is git's own limit for an attributes file: 100 MiB.
const maxAttributes = 100 << 20

// attributesDir returns "" or "dir/" for a .gitattributes file.
func attributesDir(e TreeEntry) (string, bool) {
	dir, ok := strings.CutSuffix(e.Path, ".gitattributes")
	return dir, ok && (dir == "" || strings.HasSuffix(dir, "/")) && e.Mode != ModeSymlink
}

// anchor rewrites one attributes line of dir ("" or ending in '/') for the top
// of the tree. Lines whose pattern is quoted are only understood at the top.
func anchor(dir, line string) (string, bool) {
	line = strings.TrimRight(strings.TrimLeft(line, " \t"), "\r")
	if line == "" || line[0] == '#' {
		return "", false
	}
	if dir == "" {
		return line, true
	}
	if line[0] == '"' || line[0] == '[' || line[0] == '!' {
		return "", false
	}
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return "", false
	}
	pattern, attrs := line[:end], line[end:]
	if strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
		pattern = escapeGlob(dir) + strings.TrimPrefix(pattern, "/")
	} else {
		pattern = escapeGlob(dir) + "**/" + pattern
	}
	if strings.ContainsAny(pattern, " \t\"") {
		pattern = quoteC(pattern)
	}
	return pattern + attrs, true
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
