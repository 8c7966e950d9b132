package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/bounded"
	"github.com/ambit-run/ambit/internal/gitx"
)

// A step's git is its own: an index entry that git was told not to look at, or a
// filter named outside of the tree, makes its commits hold something else than
// the files that were reviewed and that passed the gate. So the plan's commits
// count only where, taken together, they change exactly the reviewed paths to
// exactly the reviewed contents.

// reviewed compares the plan's net change with the changeset, path by path. The
// differences it returns are those of the plan's own commits.
func (r *result) reviewed(ctx context.Context) (map[string]gitx.Diff, error) {
	h := r.req.History
	base, err := r.tree(ctx, h.Base)
	if err != nil {
		return nil, err
	}
	diffs, err := r.view.DiffTrees(ctx, base, h.Tip)
	if err != nil {
		return nil, err
	}
	list, err := edits(r.req.Set)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]edit, len(list))
	for _, e := range list {
		wanted[e.path] = e
	}
	var off []string
	own := make(map[string]gitx.Diff, len(diffs))
	var files []gitx.Diff
	for _, d := range diffs {
		own[d.Path] = d
		e, ok := wanted[d.Path]
		switch {
		case !ok, (d.Status == 'D') != (e.after == nil):
			off = append(off, d.Path)
		case d.Status == 'D':
		case d.NewMode != modeOf(e.after):
			off = append(off, d.Path)
		default:
			files = append(files, d)
		}
	}
	for _, e := range list {
		if _, ok := own[e.path]; !ok && !sameToGit(e.before, e.after) {
			off = append(off, e.path)
		}
	}
	differ, err := r.differingContents(ctx, files, wanted)
	if err != nil {
		return nil, err
	}
	return own, notReviewed(append(off, differ...))
}

// differingContents lists the paths whose blobs are not what was reviewed.
func (r *result) differingContents(ctx context.Context, files []gitx.Diff, wanted map[string]edit) ([]string, error) {
	ids := make([]string, len(files))
	for i, d := range files {
		ids[i] = d.NewID
	}
	var off []string
	err := r.view.CatFiles(ctx, ids, func(i int, o gitx.Object) error {
		path := files[i].Path
		after := wanted[path].after
		head := &bounded.Buffer{Max: 4096} // enough for a link text or a pointer
		sum := sha256.New()
		lines := &lineEnds{sum: sha256.New()}
		if _, err := io.Copy(io.MultiWriter(sum, lines, head), o.R); err != nil {
			return fmt.Errorf("read the committed %q: %w", path, err)
		}
		switch {
		case after.Kind == changeset.Symlink:
			if head.String() != after.Link {
				off = append(off, path)
			}
		case hex.EncodeToString(sum.Sum(nil)) == after.Hash, isPointerTo(head.String(), after):
		default:
			same, err := r.sameLines(path, lines)
			if err != nil {
				return err
			}
			if !same {
				off = append(off, path)
			}
		}
		return nil
	})
	return off, err
}

// sameLines reports whether the reviewed file and the committed one differ in
// nothing but CR before LF, which is what git's own line conversion changes.
func (r *result) sameLines(path string, committed *lineEnds) (bool, error) {
	if r.req.Src == nil {
		return false, nil
	}
	in, err := r.req.Src.Open(changeset.After, path)
	if err != nil {
		return false, fault.Wrap("", "read "+path, err)
	}
	defer in.Close()
	file := &lineEnds{sum: sha256.New()}
	if _, err := io.Copy(file, in); err != nil {
		return false, fault.Wrap(fault.Unavailable, "read "+path, err)
	}
	return bytes.Equal(file.done(), committed.done()), nil
}

// isPointerTo reports whether text is a Git LFS pointer to the reviewed contents
// (git-lfs, docs/spec.md: version line first, then oid and size).
func isPointerTo(text string, after *changeset.Entry) bool {
	return strings.HasPrefix(text, "version https://git-lfs.github.com/spec/v1\n") &&
		strings.Contains(text, "\noid sha256:"+after.Hash+"\n") &&
		strings.HasSuffix(text, fmt.Sprintf("\nsize %d\n", after.Size))
}

// within makes sure that what is published changes nothing but the plan's own
// paths, and nothing otherwise than the plan where nobody else changed it.
// Commits that take back what earlier ones did could otherwise, carried onto
// another tip, take back what a person did.
func (r *result) within(ctx context.Context, own map[string]gitx.Diff) error {
	onto, err := r.tree(ctx, r.onto)
	if err != nil {
		return err
	}
	diffs, err := r.view.DiffTrees(ctx, onto, r.tip)
	if err != nil {
		return err
	}
	var off []string
	for _, d := range diffs {
		o, ok := own[d.Path]
		if !ok || (d.OldID == o.OldID && d.OldMode == o.OldMode && (d.NewID != o.NewID || d.NewMode != o.NewMode)) {
			off = append(off, d.Path)
		}
	}
	return notReviewed(off)
}

func notReviewed(off []string) error {
	if len(off) == 0 {
		return nil
	}
	slices.Sort(off)
	return fault.New(fault.Conflict, "apply", "the plan's commits hold something else than what was reviewed").
		WithPaths(slices.Compact(off)...).WithCause(engine.ErrNotReviewed).
		WithHint("`ambit apply --to worktree` carries the reviewed files without the commits")
}

// sameToGit reports whether two states of a path are one to git: it records the
// executable bit only, and no directories.
func sameToGit(a, b *changeset.Entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Hash == b.Hash && a.Link == b.Link && modeOf(a) == modeOf(b)
}

// lineEnds hashes what is written to it with every CR before LF left out.
type lineEnds struct {
	sum interface {
		io.Writer
		Sum([]byte) []byte
	}
	cr bool // a CR is held back
}

func (l *lineEnds) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+1)
	for _, b := range p {
		if l.cr && b != '\n' {
			out = append(out, '\r')
		}
		if l.cr = b == '\r'; !l.cr {
			out = append(out, b)
		}
	}
	_, err := l.sum.Write(out)
	return len(p), err
}

func (l *lineEnds) done() []byte {
	if l.cr {
		l.cr = false
		_, _ = l.sum.Write([]byte{'\r'}) // a hash never fails
	}
	return l.sum.Sum(nil)
}
