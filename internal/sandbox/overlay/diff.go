package overlay

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/internal/fsop"
)

// candidate is a path that two views do not hold as the same object. Whether it
// really differs is known once it has been read.
type candidate struct {
	path          string
	before, after *node
}

// differ walks two views of one tree. It enters only directories in which a
// layer takes part that the two do not share, so its cost is that of the layers
// between them, plus that of whatever was deleted or replaced as a whole.
type differ struct {
	ctx      context.Context //nolint:containedctx // lives for one comparison
	from, to *view
	shared   map[string]bool // paths of the layers at the bottom of both
	git      bool            // the resource is a checkout: its own .git is no part of it
	out      []candidate
	skipped  []changeset.Skip
}

func newDiffer(ctx context.Context, from, to *view, git bool) *differ {
	d := &differ{ctx: ctx, from: from, to: to, git: git, shared: map[string]bool{}}
	a, b := from.layers, to.layers
	for i := 1; i <= len(a) && i <= len(b); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		if x.Path != y.Path {
			break
		}
		d.shared[x.Path] = true
	}
	return d
}

// run compares the two trees from their roots.
func (d *differ) run() error {
	f, err := d.from.root()
	if err != nil {
		return err
	}
	t, err := d.to.root()
	if err != nil {
		return err
	}
	return d.dir(".", f, t)
}

// own splits the layers of a directory into those that only this side has and
// the rest, which is shared.
func (d *differ) own(v *view, n *node) (own []int, rest string) {
	var b strings.Builder
	for _, i := range n.dirs {
		if p := v.layers[i].Path; d.shared[p] {
			b.WriteString(p)
			b.WriteByte(0)
		} else {
			own = append(own, i)
		}
	}
	return own, b.String()
}

// dir compares a directory that both sides have.
func (d *differ) dir(path string, f, t *node) error {
	if err := context.Cause(d.ctx); err != nil {
		return err
	}
	fOwn, fRest := d.own(d.from, f)
	tOwn, tRest := d.own(d.to, t)
	if fRest != tRest { // one side is cut off from shared layers that the other still shows
		fOwn, tOwn = f.dirs, t.dirs
	} else if len(fOwn) == 0 && len(tOwn) == 0 {
		return nil
	}
	names := map[string]bool{}
	if err := d.unreadable(path, d.from.names(path, fOwn, names)); err != nil {
		return err
	}
	if err := d.unreadable(path, d.to.names(path, tOwn, names)); err != nil {
		return err
	}
	for _, name := range sorted(names) {
		p := fsop.Join(path, name)
		if d.excluded(path, name, p) {
			continue
		}
		cf, err := d.from.child(path, f, p)
		if err != nil {
			return err
		}
		ct, err := d.to.child(path, t, p)
		if err != nil {
			return err
		}
		if err := d.pair(p, cf, ct); err != nil {
			return err
		}
	}
	return nil
}

// pair compares one path. Either side may be nil.
func (d *differ) pair(path string, f, t *node) error {
	switch {
	case f == nil && t == nil:
		return nil
	case f == nil:
		return d.subtree(path, t, false)
	case t == nil:
		return d.subtree(path, f, true)
	}
	if d.special(path, f, t) {
		return nil
	}
	if !f.isDir() && !t.isDir() {
		if !d.same(f, t) {
			d.add(path, f, t)
		}
		return nil
	}
	if f.isDir() && t.isDir() {
		alike, err := d.alikeDirs(path, f, t)
		if err != nil {
			return err
		}
		if !alike {
			d.add(path, f, t)
		}
		return d.dir(path, f, t)
	}
	// A file in the place of a directory or the reverse: the path itself is
	// modified, what was or is below it deleted or created.
	d.add(path, f, t)
	if f.isDir() {
		return d.below(path, f, true)
	}
	return d.below(path, t, false)
}

// same reports whether both sides show the very same object.
func (d *differ) same(f, t *node) bool {
	a, b := d.from.layers[f.at], d.to.layers[t.at]
	return a.Path == b.Path || (!f.isDir() && f.info.Dev() == t.info.Dev() && f.info.Ino == t.info.Ino)
}

// alikeDirs reports whether two directories differ in nothing of their own. The
// kernel copies a directory up whenever something in it changes.
func (d *differ) alikeDirs(path string, f, t *node) (bool, error) {
	if d.same(f, t) {
		return true, nil
	}
	if f.info.Mode != t.info.Mode {
		return false, nil
	}
	a, err := d.from.layers[f.at].ownXattrs(path)
	if err != nil {
		return false, err
	}
	b, err := d.to.layers[t.at].ownXattrs(path)
	return err == nil && maps.Equal(a, b), err
}

// special reports whether a side is a FIFO, socket or device: listed, not compared.
func (d *differ) special(path string, f, t *node) bool {
	for _, n := range []*node{t, f} {
		if n != nil && n.info.Kind.Special() {
			if f == nil || t == nil || !d.same(f, t) {
				d.skip(path, n.info.Kind.String())
			}
			return true
		}
	}
	return false
}

// subtree reports a path and all below it as gone (before) or new.
func (d *differ) subtree(path string, n *node, gone bool) error {
	if gone {
		if d.special(path, n, nil) {
			return nil
		}
		d.add(path, n, nil)
	} else {
		if d.special(path, nil, n) {
			return nil
		}
		d.add(path, nil, n)
	}
	if n.isDir() {
		return d.below(path, n, gone)
	}
	return nil
}

func (d *differ) below(path string, n *node, gone bool) error {
	if err := context.Cause(d.ctx); err != nil {
		return err
	}
	v := d.to
	if gone {
		v = d.from
	}
	names := map[string]bool{}
	if err := d.unreadable(path, v.names(path, n.dirs, names)); err != nil {
		return err
	}
	for _, name := range sorted(names) {
		p := fsop.Join(path, name)
		if d.excluded(path, name, p) {
			continue
		}
		c, err := v.child(path, n, p)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if err := d.subtree(p, c, gone); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) add(path string, f, t *node) {
	d.out = append(d.out, candidate{path: path, before: f, after: t})
}

func (d *differ) skip(path, reason string) {
	d.skipped = append(d.skipped, changeset.Skip{Path: path, Reason: reason})
}

// excluded keeps git's own folders out: that of the resource silently, because
// it is isolated and carried in its own way; a deeper one by name, because a
// repository inside a repository is nothing that a changeset can carry.
func (d *differ) excluded(dir, name, path string) bool {
	if !d.git || !strings.EqualFold(name, ".git") {
		return false
	}
	if dir != "." || name != ".git" {
		d.skip(path, "belongs to a repository inside the repository")
	}
	return true
}

// unreadable turns a directory that may not be listed into a skipped path.
func (d *differ) unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		d.skip(path, "unreadable: permission denied")
		return nil
	}
	return err
}
