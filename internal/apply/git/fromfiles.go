package git

import (
	"context"
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
	if r.wants, err = r.view.DiffTrees(ctx, head, theirs); err != nil {
		return err
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
		if g := r.req.Resource.Git; g != nil && g.Head == r.head { // the branch stands where it stood
			return conflict(m.Conflicts, "at %d paths the plan builds on your uncommitted work, and a commit cannot hold the one without the other", len(m.Conflicts)).
				WithHint("%s", commitFirst)
		}
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
