package gitx

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Dirty is the uncommitted work in a checkout, as names.
type Dirty struct {
	Staged    []Diff   // index against HEAD
	Modified  []string // work tree against index, deletions included
	Deleted   []string // the part of Modified that is gone from the work tree
	Unmerged  []string // paths in a conflict
	Untracked []string // files that no ignore rule excludes; a nested repository ends with '/'
}

// Clean reports whether there is none.
func (d Dirty) Clean() bool {
	return len(d.Staged)+len(d.Modified)+len(d.Unmerged)+len(d.Untracked) == 0
}

// Paths lists every dirty path once, without order.
func (d Dirty) Paths() []string {
	seen := map[string]bool{}
	var all []string
	add := func(p string) {
		if !seen[p] {
			seen[p] = true
			all = append(all, p)
		}
	}
	for _, s := range d.Staged {
		add(s.Path)
	}
	for _, list := range [][]string{d.Modified, d.Unmerged, d.Untracked} {
		for _, p := range list {
			add(p)
		}
	}
	return all
}

// Dirty finds the uncommitted work of a checkout whose HEAD is the given commit
// (empty before the first one). It needs a Plain view with a work tree, writes
// nothing, and runs no filter: a file whose index entry is stale is compared byte
// by byte with its blob, so a file that was only touched is clean, but one that a
// filter converts and that was touched counts as modified.
func (r *Repo) Dirty(ctx context.Context, head string) (Dirty, error) {
	var d Dirty
	if head == "" {
		format, err := r.Format(ctx)
		if err != nil {
			return d, err
		}
		head = EmptyTree(format)
	}
	var err error
	d.Staged, err = r.rawDiff(ctx, Opts{Values: []string{head}},
		"diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--end-of-options")
	if err != nil {
		return d, err
	}
	unmerged := map[string]bool{}
	staged := d.Staged[:0]
	for _, s := range d.Staged {
		if s.Status == 'U' {
			unmerged[s.Path] = true
			continue
		}
		staged = append(staged, s)
	}
	d.Staged = staged
	changed, err := r.StatDirty(ctx)
	if err != nil {
		return d, err
	}
	var recheck []Diff
	for _, c := range changed {
		switch c.Status {
		case 'U':
			unmerged[c.Path] = true
		case 'D':
			d.Modified = append(d.Modified, c.Path)
			d.Deleted = append(d.Deleted, c.Path)
		case 'M':
			recheck = append(recheck, c)
		default:
			d.Modified = append(d.Modified, c.Path)
		}
	}
	really, err := r.reallyChanged(ctx, recheck)
	if err != nil {
		return d, err
	}
	for _, p := range really {
		if !unmerged[p] {
			d.Modified = append(d.Modified, p)
		}
	}
	for p := range unmerged {
		d.Unmerged = append(d.Unmerged, p)
	}
	d.Untracked, err = r.Untracked(ctx)
	return d, err
}

// StatDirty lists work tree paths whose kind, mode or stat data no longer fit
// their index entry. NewID is zero: contents were not compared.
func (r *Repo) StatDirty(ctx context.Context, paths ...string) ([]Diff, error) {
	return r.rawDiff(ctx, Opts{Paths: paths},
		"diff-files", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
}

// Untracked lists files that are neither in the index nor ignored.
func (r *Repo) Untracked(ctx context.Context) ([]string, error) {
	return r.listZ(ctx, Opts{}, append([]string{"ls-files", "-z", "--others"}, r.excludeArgs()...)...)
}

// Ignored lists ignored paths of the work tree; a directory of which everything
// is ignored is one entry that ends with '/'.
func (r *Repo) Ignored(ctx context.Context) ([]string, error) {
	return r.listZ(ctx, Opts{}, append([]string{"ls-files", "-z", "--others", "--ignored", "--directory"}, r.excludeArgs()...)...)
}

func (r *Repo) listZ(ctx context.Context, opts Opts, args ...string) ([]string, error) {
	var list []string
	err := r.EachZ(ctx, opts, func(rec string) error {
		list = append(list, rec)
		return nil
	}, args...)
	return list, err
}

// excludeArgs are the ignore rules that --exclude-standard would read, which in
// a Plain view would miss the repository's own info/exclude. The order is git's:
// the last file wins over the earlier, .gitignore over both.
func (r *Repo) excludeArgs() []string {
	var args []string
	for _, s := range r.settings {
		if s.key == "core.excludesFile" && isRegular(s.value) {
			args = append(args, "--exclude-from="+s.value)
		}
	}
	if own := r.loc.CommonDir + "/info/exclude"; isRegular(own) {
		args = append(args, "--exclude-from="+own)
	}
	return append(args, "--exclude-per-directory=.gitignore")
}

// IndexEntry is one path of the index.
type IndexEntry struct {
	Mode         string
	ID           string
	Stage        int // 0, or 1–3 in a conflict
	Path         string
	SkipWorktree bool // left out by a sparse checkout
}

// IndexEntries lists the index, or the part of it under the given paths.
func (r *Repo) IndexEntries(ctx context.Context, paths ...string) ([]IndexEntry, error) {
	var list []IndexEntry
	err := r.EachZ(ctx, Opts{Paths: paths}, func(rec string) error {
		meta, path, ok := strings.Cut(rec, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 4 || len(f[3]) != 1 {
			return fmt.Errorf("list index: unexpected record %q", rec)
		}
		list = append(list, IndexEntry{
			Mode: f[1], ID: f[2], Stage: int(f[3][0] - '0'), Path: path,
			SkipWorktree: f[0] == "S" || f[0] == "s",
		})
		return nil
	}, "ls-files", "-z", "--stage", "-t")
	return list, err
}

// AssumedUnchanged lists paths whose files git was told not to look at.
func (r *Repo) AssumedUnchanged(ctx context.Context) ([]string, error) {
	var list []string
	err := r.EachZ(ctx, Opts{}, func(rec string) error {
		if tag, path, ok := strings.Cut(rec, " "); ok && tag != "" && tag[0] >= 'a' && tag[0] <= 'z' {
			list = append(list, path)
		}
		return nil
	}, "ls-files", "-z", "-v")
	return list, err
}

// Attributes returns the value of one attribute for each path that has it set,
// judged by the .gitattributes files in the index.
func (r *Repo) Attributes(ctx context.Context, attr string, paths []string) (map[string]string, error) {
	all, err := r.AttributesOf(ctx, []string{attr}, paths)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for path, attrs := range all {
		if v, ok := attrs[attr]; ok {
			values[path] = v
		}
	}
	return values, nil
}

// AttributesOf is Attributes for several attributes at once: path → attribute → value.
func (r *Repo) AttributesOf(ctx context.Context, attrs, paths []string) (map[string]map[string]string, error) {
	values := map[string]map[string]string{}
	if len(paths) == 0 {
		return values, nil
	}
	for _, a := range attrs {
		if err := CheckValue(a); err != nil {
			return nil, err
		}
	}
	in := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var f []string
	err := r.EachZ(ctx, Opts{Stdin: in}, func(rec string) error {
		if f = append(f, rec); len(f) < 3 {
			return nil
		}
		if f[2] != "unspecified" && f[2] != "unset" {
			if values[f[0]] == nil {
				values[f[0]] = map[string]string{}
			}
			values[f[0]][f[1]] = f[2]
		}
		f = f[:0]
		return nil
	}, append([]string{"check-attr", "-z", "--cached", "--stdin"}, attrs...)...)
	if err == nil && len(f) != 0 {
		err = errors.New("check attributes: answer cut off")
	}
	return values, err
}

// EmptyTree is the id of the tree without entries, which git knows without having it.
func EmptyTree(format string) string {
	if format == "sha256" {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}
