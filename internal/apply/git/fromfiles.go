package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// conversions are the attributes by which the bytes of a file in a checkout
// differ from those of its blob.
var conversions = []string{"filter", "text", "eol", "crlf", "ident", "working-tree-encoding"}

// edit is one path of a changeset as git sees it: files and links only.
type edit struct {
	path          string
	before, after *changeset.Entry // nil = not there, or a directory
}

// fromFiles builds one commit from the changeset over the present tip.
func (r *result) fromFiles(ctx context.Context) error {
	r.onto = r.head
	edits, err := edits(r.req.Set)
	if err != nil {
		return err
	}
	head, err := r.tree(ctx, r.onto)
	if err != nil {
		return err
	}
	attrs := r.file("work/attributes")
	if err := r.view.Flatten(ctx, head, attrs); err != nil {
		return err
	}
	bare := r.view.WithWorkTree("")
	b := &builder{
		result: r, index: bare.WithIndex(r.file("work/index")),
		attributed: bare.WithAttributes(attrs), have: map[string]gitx.TreeEntry{},
	}
	if err := b.index.ReadTree(ctx, head); err != nil {
		return err
	}
	entries, err := r.view.Tree(ctx, head)
	if err != nil {
		return err
	}
	for _, e := range entries {
		b.have[e.Path] = e
	}
	if err := b.refuse(ctx, edits); err != nil {
		return err
	}
	theirs, err := b.sort(ctx, edits)
	if err != nil {
		return err
	}
	if len(b.moved) == 0 {
		return r.commit(ctx, theirs, nil)
	}
	if !r.req.Merge {
		return conflict(b.moved, "%d paths are no longer what the plan started from", len(b.moved))
	}
	base, err := b.treeOf(ctx, b.baseSide)
	if err != nil {
		return err
	}
	m, err := b.attributed.MergeTrees(ctx, base, head, theirs)
	if err != nil {
		return err
	}
	if len(m.Conflicts) > 0 {
		return conflict(m.Conflicts, "%d paths changed on both sides", len(m.Conflicts))
	}
	return r.commit(ctx, m.Tree, nil)
}

// edits flattens a changeset: a rename is a removal and a creation, directories
// are nothing to git.
func edits(set *changeset.Set) ([]edit, error) {
	var list []edit
	var control []string
	add := func(path string, before, after *changeset.Entry) error {
		if err := fsop.CheckRel(path); err != nil || path == "." {
			return fault.New(fault.Invalid, "apply", "%q is no path of a changeset", path).WithCause(err)
		}
		for comp := range strings.SplitSeq(path, "/") {
			if strings.EqualFold(comp, ".git") {
				control = append(control, path)
			}
		}
		if before != nil && before.Kind == changeset.Dir {
			before = nil
		}
		if after != nil && after.Kind == changeset.Dir {
			after = nil
		}
		if before != nil || after != nil {
			list = append(list, edit{path, before, after})
		}
		return nil
	}
	for _, c := range set.Changes {
		if c.Op == changeset.Renamed {
			if err := add(c.From, c.Before, nil); err != nil {
				return nil, err
			}
			if err := add(c.Path, nil, c.After); err != nil {
				return nil, err
			}
			continue
		}
		if err := add(c.Path, c.Before, c.After); err != nil {
			return nil, err
		}
	}
	if len(control) > 0 {
		return nil, fault.New(fault.Invalid, "apply", "%d paths lie in a .git folder and cannot be committed", len(control)).
			WithPaths(control...).WithHint("leave them out with --only")
	}
	return list, nil
}

// builder makes trees out of edits.
type builder struct {
	*result
	index      *gitx.Repo                // holds the present tip's tree
	attributed *gitx.Repo                // goes by the present tip's attributes
	have       map[string]gitx.TreeEntry // the present tip
	convert    map[string]map[string]string
	moved      []string // paths whose present version is neither before nor after
	baseSide   []gitx.IndexEntry
	staged     int
}

// refuse stops what cannot become a blob here: contents a filter program would
// have to convert, and files inside a submodule.
func (b *builder) refuse(ctx context.Context, edits []edit) error {
	var paths, inner, filtered []string
	for _, e := range edits {
		paths = append(paths, e.path)
		for dir, _ := fsop.SplitRel(e.path); dir != "."; dir, _ = fsop.SplitRel(dir) {
			if b.have[dir].Mode == gitx.ModeGitlink {
				inner = append(inner, e.path)
				break
			}
		}
	}
	if len(inner) > 0 {
		return fault.New(fault.Unsupported, "apply", "%d paths belong to a submodule, a repository of its own", len(inner)).
			WithPaths(inner...).WithHint("leave them out with --only and make the submodule a resource of its own")
	}
	var err error
	if b.convert, err = b.index.AttributesOf(ctx, conversions, paths); err != nil {
		return err
	}
	for _, e := range edits {
		if b.convert[e.path]["filter"] != "" && e.after != nil && e.after.Kind == changeset.File {
			filtered = append(filtered, e.path)
		}
	}
	if len(filtered) > 0 {
		return fault.New(fault.Unsupported, "apply", "%d paths need a filter program (such as git-lfs) to be committed, which runs inside the sandbox only", len(filtered)).
			WithPaths(filtered...).WithHint("apply the whole plan, whose commits the sandbox made, or apply to the work tree")
	}
	return nil
}

// sort compares each edit with the present tip, notes those that moved, and
// returns the tree in which all edits are carried out.
func (b *builder) sort(ctx context.Context, edits []edit) (string, error) {
	present, err := b.hashes(ctx, edits)
	if err != nil {
		return "", err
	}
	after, err := b.entries(ctx, edits, changeset.After)
	if err != nil {
		return "", err
	}
	wanted := map[string]bool{}
	var unsure []edit
	for i, e := range edits {
		wanted[e.path] = true
		now, there := b.have[e.path]
		if !same(e.before, now, there, present[e.path]) && (after[i].ID != now.ID || after[i].Mode != now.Mode) {
			unsure = append(unsure, e)
		}
	}
	before, err := b.entries(ctx, unsure, changeset.Before)
	if err != nil {
		return "", err
	}
	for i, e := range unsure {
		if now := b.have[e.path]; before[i].ID != now.ID || before[i].Mode != now.Mode { // else equal after git's own conversions
			b.moved = append(b.moved, e.path)
			b.baseSide = append(b.baseSide, before[i])
		}
	}
	tree, err := b.treeOf(ctx, after)
	if err != nil {
		return "", err
	}
	return tree, b.onlyWanted(ctx, tree, wanted)
}

// onlyWanted makes sure that a file which took a directory's place, or the
// reverse, did not silently remove what the changeset does not speak of.
func (b *builder) onlyWanted(ctx context.Context, tree string, wanted map[string]bool) error {
	head, err := b.tree(ctx, b.onto)
	if err != nil {
		return err
	}
	diffs, err := b.view.DiffTrees(ctx, head, tree)
	if err != nil {
		return err
	}
	var extra []string
	for _, d := range diffs {
		if !wanted[d.Path] {
			extra = append(extra, d.Path)
		}
	}
	if len(extra) > 0 {
		return conflict(extra, "%d paths are in the way of a file or directory of the plan", len(extra))
	}
	return nil
}

// same reports whether the present version is the one the changeset started from.
func same(e *changeset.Entry, now gitx.TreeEntry, there bool, sum string) bool {
	if e == nil || !there {
		return e == nil && !there
	}
	if e.Kind == changeset.Symlink {
		return now.Mode == gitx.ModeSymlink && sum == sha(e.Link)
	}
	return now.Mode == modeOf(e) && sum == e.Hash
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func modeOf(e *changeset.Entry) string {
	switch {
	case e.Kind == changeset.Symlink:
		return gitx.ModeSymlink
	case e.Mode&0o100 != 0:
		return gitx.ModeExec
	}
	return gitx.ModeFile
}

// hashes returns the SHA-256 of the present blob of each edited path.
func (b *builder) hashes(ctx context.Context, edits []edit) (map[string]string, error) {
	var paths, ids []string
	for _, e := range edits {
		if now, ok := b.have[e.path]; ok && now.Mode != gitx.ModeGitlink {
			paths, ids = append(paths, e.path), append(ids, now.ID)
		}
	}
	sums := map[string]string{}
	err := b.view.CatFiles(ctx, ids, func(i int, o gitx.Object) error {
		h := sha256.New()
		if _, err := io.Copy(h, o.R); err != nil {
			return err
		}
		sums[paths[i]] = hex.EncodeToString(h.Sum(nil))
		return nil
	})
	return sums, err
}

// entries writes one side of each edit as a blob, with the conversions that git
// does itself, and returns index entries in order; one without ID for "not there".
func (b *builder) entries(ctx context.Context, edits []edit, side changeset.Side) ([]gitx.IndexEntry, error) {
	b.staged++
	dir := b.file(fmt.Sprintf("work/in-%d", b.staged))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Internal, "stage contents", err)
	}
	list := make([]gitx.IndexEntry, len(edits))
	var raw []string // files to be taken as they stand, and whose entries they are
	var of []int
	for i, e := range edits {
		list[i].Path = e.path
		entry := e.before
		if side == changeset.After {
			entry = e.after
		}
		if entry == nil {
			continue
		}
		list[i].Mode = modeOf(entry)
		name := filepath.Join(dir, fmt.Sprintf("%06d", i))
		if err := b.stage(name, e.path, entry, side); err != nil {
			return nil, err
		}
		if entry.Kind == changeset.Symlink || b.convert[e.path] == nil && !b.plain.ConvertsLines() {
			raw, of = append(raw, name), append(of, i)
			continue
		}
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "stage contents", err)
		}
		list[i].ID, err = b.attributed.HashFile(ctx, e.path, f)
		_ = f.Close() // read only
		if err != nil {
			return nil, err
		}
	}
	ids, err := b.view.HashFiles(ctx, raw)
	if err != nil {
		return nil, err
	}
	for n, i := range of {
		list[i].ID = ids[n]
	}
	return list, nil
}

// stage copies one side's contents into a file of ours and checks that they are
// what the changeset says.
func (b *builder) stage(name, path string, e *changeset.Entry, side changeset.Side) (err error) {
	if e.Kind == changeset.Symlink {
		if err := os.WriteFile(name, []byte(e.Link), 0o600); err != nil {
			return fault.Wrap(fault.Internal, "stage contents", err)
		}
		return nil
	}
	in, err := b.req.Src.Open(side, path)
	if err != nil {
		return fault.Wrap("", "read "+path, err)
	}
	defer in.Close() //nolint:errcheck // read only
	out, err := os.OpenFile(filepath.Clean(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(fault.Internal, "stage contents", err)
	}
	defer func() {
		if closeErr := out.Close(); err == nil && closeErr != nil {
			err = fault.Wrap(fault.Internal, "stage contents", closeErr)
		}
	}()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, h), in); err != nil {
		return fault.Wrap(fault.CodeOf(err), "read "+path, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != e.Hash {
		return fault.New(fault.Stale, "read "+path, "its contents are no longer those of the changeset").WithPaths(path)
	}
	return nil
}

// treeOf writes the present tip's tree with the given entries in place.
func (b *builder) treeOf(ctx context.Context, entries []gitx.IndexEntry) (string, error) {
	b.staged++
	name := b.file(fmt.Sprintf("work/index-%d", b.staged))
	data, err := os.ReadFile(b.index.IndexFile())
	if err != nil {
		return "", fault.Wrap(fault.Internal, "copy index", err)
	}
	if err := os.WriteFile(filepath.Clean(name), data, 0o600); err != nil {
		return "", fault.Wrap(fault.Internal, "copy index", err)
	}
	view := b.index.WithIndex(name)
	entries = slices.Clone(entries)
	if err := view.UpdateIndex(ctx, entries); err != nil {
		return "", err
	}
	return view.WriteTree(ctx)
}
