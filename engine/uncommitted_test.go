package engine

import (
	"testing"

	"github.com/ambit-run/ambit/changeset"
)

// TestWhatACommitCannotHold: folders that come or go without a file, and folder modes.
func TestWhatACommitCannotHold(t *testing.T) {
	t.Parallel()
	dir, file := &changeset.Entry{Kind: changeset.Dir}, &changeset.Entry{Kind: changeset.File}
	set := &changeset.Set{Changes: []changeset.Change{
		{Path: "a", After: dir},
		{Path: "a/b", After: dir},
		{Path: "a/b/f", After: file},
		{Path: "a/empty", After: dir},
		{Path: "old", Before: dir},
		{Path: "old/f", Before: file},
		{Path: "bare", Before: dir},
		{Path: "from", Before: dir},
		{Path: "to", After: dir},
		{Path: "to/f", From: "from/f", Before: file, After: file},
		{Path: "mode", Before: dir, After: dir},
		{Path: "kind", Before: file, After: dir},
	}}
	u := uncommittedOf(set)
	const want = "2 empty folders (a/empty, bare) and 1 folder's mode (mode) cannot be committed"
	if u.String() != want || u.count() != 3 {
		t.Errorf("%d: %s\nwant %s", u.count(), u, want)
	}
}
