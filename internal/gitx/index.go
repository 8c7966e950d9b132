package gitx

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// UpdateIndex puts entries into the view's index, all or none; an entry with an
// empty ID is taken out. Where a path was left out by a sparse checkout it stays
// left out. Stat data of the entries is cleared: Refresh fills it.
func (r *Repo) UpdateIndex(ctx context.Context, entries []IndexEntry) error {
	if len(entries) == 0 {
		return nil
	}
	format, err := r.Format(ctx)
	if err != nil {
		return err
	}
	var gone, kept, sparse strings.Builder
	for _, e := range entries {
		switch {
		case e.Path == "" || strings.Contains(e.Path, "\x00"):
			return fault.New(fault.Invalid, "write index", "%q is not a path", e.Path)
		case e.ID == "":
			fmt.Fprintf(&gone, "0 %s\t%s\x00", Zero(format), e.Path)
		default:
			fmt.Fprintf(&kept, "%s %s %d\t%s\x00", e.Mode, e.ID, e.Stage, e.Path)
			if e.SkipWorktree {
				sparse.WriteString(e.Path + "\x00")
			}
		}
	}
	// Removals first: a directory may take a file's place.
	in := strings.NewReader(gone.String() + kept.String())
	if _, err := r.Run(ctx, Opts{Stdin: in}, "update-index", "--add", "--remove", "--replace", "-z", "--index-info"); err != nil {
		return err
	}
	if sparse.Len() == 0 {
		return nil
	}
	_, err = r.Run(ctx, Opts{Stdin: strings.NewReader(sparse.String())}, "update-index", "--skip-worktree", "-z", "--stdin")
	return err
}

// Refresh brings the stat data of the view's index up to date for every file
// whose bytes are its blob's. A file that a filter would convert stays stale and
// is compared by the person's own next git status.
func (r *Repo) Refresh(ctx context.Context) error {
	_, err := r.Run(ctx, Opts{Exits: []int{1}, Stdout: discard{}}, "update-index", "-q", "--refresh", "--unmerged")
	return err
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// ReadTree replaces the view's index by a tree, without touching a file.
func (r *Repo) ReadTree(ctx context.Context, treeish string) error {
	tree, err := r.TreeOf(ctx, treeish)
	if err != nil {
		return err
	}
	_, err = r.Run(ctx, Opts{Values: []string{tree}}, "read-tree")
	return err
}

// WriteTree writes the view's index as trees and returns the top one.
func (r *Repo) WriteTree(ctx context.Context) (string, error) {
	return r.Output(ctx, Opts{}, "write-tree")
}

// linkSplit lets a Plain view read a split index, whose larger part lies in a
// file of the git directory that is named by its own hash.
func linkSplit(gitDir, plainDir string) error {
	parts, err := filepath.Glob(filepath.Join(escapeGlob(gitDir), "sharedindex.*"))
	if err != nil {
		return fmt.Errorf("look for a split index: %w", err)
	}
	for _, p := range parts {
		link := filepath.Join(plainDir, filepath.Base(p))
		if isRegular(link) {
			continue
		}
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := os.Symlink(p, link); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
