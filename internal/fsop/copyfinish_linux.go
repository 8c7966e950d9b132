package fsop

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// makeLinks gives the further names of files with several names to their copies.
func (t *treeCopy) makeLinks(ctx context.Context) error {
	d := t.to.dir
	for _, l := range t.links {
		if err := context.Cause(ctx); err != nil {
			return fail("copy tree", l.path, err)
		}
		to := t.dstPath(l.path)
		if !l.group.copied { // the first name vanished before it was copied
			if err := t.copyLate(ctx, l, to); err != nil {
				return err
			}
			continue
		}
		from := t.dstPath(l.group.path)
		err := d.Link(from, d, to)
		if errors.Is(err, unix.EEXIST) {
			if err = d.RemoveAll(to); err == nil {
				err = d.Link(from, d, to)
			}
		}
		if errors.Is(err, unix.EMLINK) || errors.Is(err, unix.EPERM) { // the pair is broken, and said so
			t.lost(l.path, []string{"hard link to " + l.group.path})
			err = t.copyLate(ctx, l, to)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		t.stats.Links++
		if t.opts.Entry != nil {
			t.opts.Entry(l.path, l.info, l.group.sha256, l.group.reflinked)
		}
	}
	return nil
}

func (t *treeCopy) copyLate(ctx context.Context, l linkLater, to string) error {
	src := t.srcPath(l.path)
	in, info, err := t.from.dir.openFile("copy tree", src)
	if err != nil {
		return t.unreadable(l.path, err)
	}
	defer unix.Close(in)
	p, err := t.to.dir.parentOf("copy tree", to)
	if err != nil {
		return err
	}
	defer p.close()
	res, err := t.file(ctx, t.to.dir, in, info, p.fd, p.base, to)
	if err != nil {
		return fail("copy tree", t.to.dir.abs(to), err)
	}
	t.stats.Files++
	t.stats.Copied++
	t.stats.BytesCopied += res.Size
	if !l.group.copied {
		l.group.path, l.group.copied, l.group.sha256, l.group.reflinked = l.path, true, res.SHA256, res.Reflinked
	}
	if t.opts.Entry != nil {
		t.opts.Entry(l.path, info, res.SHA256, res.Reflinked)
	}
	return nil
}

// finishDirs gives every directory of the copy its owner, mode, attributes and
// time, children before parents, since making an entry changes the time.
func (t *treeCopy) finishDirs(ctx context.Context, root *dirNode) error {
	node, next := root, []int{0}
	for {
		if err := context.Cause(ctx); err != nil {
			return fail("copy tree", t.to.dir.abs(t.to.here()), err)
		}
		top := len(next) - 1
		if next[top] < len(node.kids) {
			kid := node.kids[next[top]]
			next[top]++
			if err := t.to.enter(kid.name, false); err != nil {
				return lookupFail("copy tree", t.to.dir.abs(t.to.join(kid.name)), err)
			}
			node, next = kid, append(next, 0)
			continue
		}
		if top == 0 {
			return t.finishDir(node)
		}
		if err := t.to.openUp(); err != nil { // before the mode may close it to us
			return err
		}
		if err := t.finishDir(node); err != nil {
			return err
		}
		if err := t.to.leave(); err != nil {
			return err
		}
		node, next = node.up, next[:top]
	}
}

func (t *treeCopy) finishDir(node *dirNode) error {
	here := t.to.here()
	if err := t.to.dir.before("setattr", here); err != nil {
		return fail("copy tree", t.to.dir.abs(here), err)
	}
	lost, err := t.setMeta(t.to.fd(), node.info, node.attrs)
	if err != nil {
		return fail("copy tree", t.to.dir.abs(here), err)
	}
	t.lost(t.dstRel(here), lost)
	if t.opts.Sync {
		if err := t.to.dir.before("fsync", here); err != nil {
			return fail("copy tree", t.to.dir.abs(here), err)
		}
		return fail("copy tree", t.to.dir.abs(here), ignoreIntr(func() error { return unix.Fsync(t.to.fd()) }))
	}
	return nil
}
