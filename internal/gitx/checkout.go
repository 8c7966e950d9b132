package gitx

import (
	"bytes"
	"context"
	"strings"
)

// Fill checks a commit or tree out into the view's work tree, an existing empty
// directory, and writes the view's index so that its stat data fit. Both must be
// the caller's own: r is a Plain view with WithWorkTree and WithIndex.
//
// No program runs: end-of-line and encoding conversions that git does itself are
// carried out, a file whose attributes ask for a filter (LFS) gets the bytes of
// its blob, the pointer (C25, C26); submodules stay empty directories (C24).
func (r *Repo) Fill(ctx context.Context, treeish string) error {
	tree, err := r.TreeOf(ctx, treeish)
	if err != nil {
		return err
	}
	if _, err := r.Run(ctx, Opts{Values: []string{tree}}, "read-tree"); err != nil {
		return err
	}
	_, err = r.Run(ctx, Opts{}, "checkout-index", "--all", "--quiet", "-u")
	return err
}

// FillPaths writes the named files of the view's index into its work tree, over
// what is there, and refreshes their stat data.
func (r *Repo) FillPaths(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	in := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err := r.Run(ctx, Opts{Stdin: in}, "checkout-index", "--force", "--quiet", "-u", "-z", "--stdin")
	return err
}

// Leftovers are parts of a commit that a checkout by ambit does not fill.
type Leftovers struct {
	Submodules []string            // paths whose contents are another repository's
	Filtered   map[string][]string // filter name → paths that hold the blob instead of the filter's output
}

// Leftovers finds submodules and filtered files of a commit that Fill has just
// checked out with this view.
func (r *Repo) Leftovers(ctx context.Context) (Leftovers, error) {
	l := Leftovers{Filtered: map[string][]string{}}
	entries, err := r.IndexEntries(ctx)
	if err != nil {
		return l, err
	}
	var paths, attrFiles []string
	for _, e := range entries {
		switch {
		case e.Mode == ModeGitlink:
			l.Submodules = append(l.Submodules, e.Path)
		case e.Mode == ModeSymlink:
		default:
			paths = append(paths, e.Path)
			if e.Path == ".gitattributes" || strings.HasSuffix(e.Path, "/.gitattributes") {
				attrFiles = append(attrFiles, e.ID)
			}
		}
	}
	if mentions, err := r.mentionFilter(ctx, attrFiles); err != nil || !mentions {
		return l, err
	}
	filters, err := r.Attributes(ctx, "filter", paths)
	if err != nil {
		return l, err
	}
	for _, p := range paths {
		if f, ok := filters[p]; ok {
			l.Filtered[f] = append(l.Filtered[f], p)
		}
	}
	return l, nil
}

// mentionFilter spares asking for the attributes of every path where no file
// that could set a filter speaks of one.
func (r *Repo) mentionFilter(ctx context.Context, attrFiles []string) (bool, error) {
	for _, s := range r.settings {
		if s.key == "core.attributesFile" {
			return true, nil
		}
	}
	found := false
	err := r.CatFiles(ctx, attrFiles, func(_ int, o Object) error {
		var b bytes.Buffer
		if _, err := b.ReadFrom(o.R); err != nil {
			return err
		}
		found = found || bytes.Contains(b.Bytes(), []byte("filter"))
		return nil
	})
	return found, err
}
