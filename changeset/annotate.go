package changeset

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Policy tunes Annotate. The zero value is usable; each field names its default.
type Policy struct {
	// MaxDeletes is how many files a set may delete before every deletion is
	// flagged; 0 = 50.
	MaxDeletes int
	// ScanBytes is how much of each file is searched for credentials, from its
	// start; 0 = 1 MiB. Files above it are named in a notice of the set.
	ScanBytes int64
	// Declared maps a step id to the files it declared: paths, folders or
	// doublestar globs. A step without an entry, or with an empty one, declared
	// nothing and is not held to anything.
	Declared map[string][]string
}

// Defaults of Policy.
const (
	defaultMaxDeletes = 50
	defaultScanBytes  = 1 << 20
)

// Annotate replaces the flags of every change of the set, and their reasons, by
// what the policy finds. It reads contents on the after side through src (and
// the before side to tell a new credential from one that was there); src may be
// nil, then credentials are looked for in names only.
//
// Contents that cannot be read do not stop the others: the set is annotated as
// far as it can be and the first error returned, with the number of the others.
func Annotate(ctx context.Context, set *Set, src Source, p Policy) error {
	if p.MaxDeletes == 0 {
		p.MaxDeletes = defaultMaxDeletes
	}
	if p.ScanBytes == 0 {
		p.ScanBytes = defaultScanBytes
	}
	repos := embeddedRepositories(set)
	deletes := countDeletes(set)
	implied := impliedFolders(set)
	var errs []error
	var partly []string
	for i := range set.Changes {
		c := &set.Changes[i]
		c.Flags, c.Why = nil, nil
		annotateNames(c, repos)
		annotateEntry(c)
		if !isDir(c) || !implied[c.Path] { // a folder on the way is no change of its own
			annotateDeclared(c, p.Declared)
		}
		if c.Op == Deleted && deletes > p.MaxDeletes {
			c.flag(FlagManyDeletes, fmt.Sprintf("%d files are deleted, more than %d", deletes, p.MaxDeletes))
		}
		if src != nil && scannable(c) {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if c.After.Size > p.ScanBytes {
				partly = append(partly, Quote(c.Path))
			}
			why, err := scanSecrets(c, src, p.ScanBytes)
			if err != nil {
				errs = append(errs, fmt.Errorf("search %s for credentials: %w", Quote(c.Path), err))
			} else if why != "" {
				c.flag(FlagSecret, why)
			}
		}
		sort.Slice(c.Flags, func(a, b int) bool { return rank(c.Flags[a]) < rank(c.Flags[b]) })
	}
	set.replaceNotice("searched for credentials only in the first "+size(p.ScanBytes), "", partly)
	return joinErrors(errs)
}

// flag sets a flag once; the first reason wins.
func (c *Change) flag(f Flag, why string) {
	for _, have := range c.Flags {
		if have == f {
			return
		}
	}
	c.Flags = append(c.Flags, f)
	if why != "" {
		if c.Why == nil {
			c.Why = map[Flag]string{}
		}
		c.Why[f] = why
	}
}

// annotateNames judges a change by its paths. A rename is judged by both of them.
func annotateNames(c *Change, repos []string) {
	for _, path := range []string{c.Path, c.From} {
		if path == "" {
			continue
		}
		if why := gitControl(path); why != "" {
			c.flag(FlagGitControl, why)
		}
		for _, r := range repos {
			if within(path, r) {
				c.flag(FlagGitControl, "inside "+Quote(r+"/")+", which looks like a git repository of its own")
			}
		}
		if why := toolControl(path); why != "" {
			c.flag(FlagToolControl, why)
		}
		if isCI(path) {
			c.flag(FlagCI, "")
		}
		if isManifest(path) || isLockfile(path) {
			c.flag(FlagManifest, "")
		}
	}
	if c.After != nil && c.After.Kind != Dir {
		if why := secretName(c.Path); why != "" {
			c.flag(FlagSecret, why)
		}
	}
}

// annotateEntry judges a change by the kind, mode, attributes and link text it leaves.
func annotateEntry(c *Change) {
	a := c.After
	if a == nil {
		return
	}
	wasFile := c.Before != nil && c.Before.Kind == File
	switch a.Kind {
	case File:
		if a.Mode&0o111 != 0 && (!wasFile || c.Before.Mode&0o111 == 0) {
			c.flag(FlagNewExecutable, fmt.Sprintf("mode %04o", a.Mode))
		}
		if a.Mode&0o6000 != 0 {
			c.flag(FlagSetuid, fmt.Sprintf("mode %04o", a.Mode))
		}
		if _, ok := a.Xattrs["security.capability"]; ok {
			c.flag(FlagSetuid, "carries file capabilities")
		}
	case Symlink:
		if c.Before != nil && c.Before.Kind == Symlink && c.Before.Link == a.Link && c.Op != Renamed {
			return
		}
		if why := leavesTree(c.Path, a.Link); why != "" {
			c.flag(FlagLinkOutside, why)
		}
	case Dir:
	}
}

// leavesTree says why a link at path with the given text may point outside of
// the tree, or "" if it cannot. Only the text is judged: a ".." behind a name
// counts, because that name may itself be a link.
func leavesTree(path, text string) string {
	if strings.HasPrefix(text, "/") {
		return "points to " + Quote(text)
	}
	depth := strings.Count(path, "/")
	named := false
	for _, part := range strings.Split(text, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 || named {
				return "climbs to " + Quote(text)
			}
		default:
			named = true
		}
	}
	return ""
}

// annotateDeclared flags a change that a step made outside of what it declared.
func annotateDeclared(c *Change, declared map[string][]string) {
	for _, step := range c.Steps {
		files := declared[step]
		if len(files) == 0 {
			continue
		}
		for _, path := range []string{c.Path, c.From} {
			if path != "" && !declares(files, path) {
				c.flag(FlagUndeclared, "not among the files of "+step)
			}
		}
	}
}

func isDir(c *Change) bool {
	return (c.Before == nil || c.Before.Kind == Dir) && (c.After == nil || c.After.Kind == Dir)
}

// declares reports whether one of the declared paths, folders or globs covers path.
func declares(files []string, path string) bool {
	for _, f := range files {
		f = strings.TrimPrefix(f, "./")
		if within(path, strings.TrimSuffix(f, "/")) {
			return true
		}
		if ok, err := doublestar.Match(f, path); err == nil && ok {
			return true
		}
	}
	return false
}

// within reports whether path is dir or lies below it, by whole components.
func within(path, dir string) bool {
	return path == dir || dir == "" || (len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir)
}

func countDeletes(set *Set) int {
	n := 0
	for i := range set.Changes {
		if c := &set.Changes[i]; c.Op == Deleted && c.Before != nil && c.Before.Kind != Dir {
			n++
		}
	}
	return n
}
