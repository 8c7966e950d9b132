package fsop

import (
	"context"

	"golang.org/x/sys/unix"
)

// dirNode remembers what a copied directory must look like in the end.
type dirNode struct {
	name  string
	info  Info
	attrs []xattr
	kids  []*dirNode
	up    *dirNode
}

// treeWalk goes through the source, makes directories and links, and hands files
// to the workers.
type treeWalk struct {
	t    *treeCopy
	work chan<- batch
	node *dirNode
	todo [][]Entry // directories left to enter, per level
}

func (w *treeWalk) run(ctx context.Context) error {
	info, err := statFD(w.t.from.fd())
	if err != nil {
		return fail("copy tree", w.t.from.dir.abs(w.t.from.here()), err)
	}
	w.node.info = info
	if err := w.list(ctx); err != nil {
		return err
	}
	for {
		top := len(w.todo) - 1
		if len(w.todo[top]) == 0 {
			w.todo = w.todo[:top]
			if top == 0 {
				return nil
			}
			if err := w.t.from.leave(); err != nil {
				return err
			}
			if err := w.t.to.leave(); err != nil {
				return err
			}
			w.node = w.node.up
			continue
		}
		e := w.todo[top][0]
		w.todo[top] = w.todo[top][1:]
		if err := w.enter(ctx, e); err != nil {
			return err
		}
	}
}

// list deals with everything in the directory just entered but its directories,
// which it leaves in todo.
func (w *treeWalk) list(ctx context.Context) error {
	t := w.t
	here := t.srcRel(t.from.here())
	attrs, lost, err := readXattrs(t.from.fd(), t.opts.SkipXattr)
	if err != nil {
		return fail("copy tree", t.from.dir.abs(t.from.here()), err)
	}
	w.node.attrs = attrs
	t.lost(here, lost)
	t.mu.Lock()
	t.stats.Dirs++
	if t.opts.Entry != nil {
		t.opts.Entry(here, w.node.info, "", false)
	}
	t.mu.Unlock()
	err = t.from.dir.before("getdents", t.from.here())
	var entries []Entry
	if err == nil {
		entries, err = readAll(t.from.fd())
	}
	if err != nil {
		return fail("copy tree", t.from.dir.abs(t.from.here()), err)
	}
	dirs := entries[:0:0]
	var files []batchFile
	for _, e := range entries {
		if e.Kind == KindDir {
			dirs = append(dirs, e)
			continue
		}
		f, ok, err := w.leaf(e)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if files = append(files, f); len(files) == copyBatch {
			if err := w.send(ctx, here, files); err != nil {
				return err
			}
			files = nil
		}
	}
	w.todo = append(w.todo, dirs)
	return w.send(ctx, here, files)
}

// leaf looks at an entry that is no directory: links are copied here and now,
// special files listed, regular files returned.
func (w *treeWalk) leaf(e Entry) (f batchFile, ok bool, err error) {
	t := w.t
	path := t.srcRel(t.from.join(e.Name))
	if e.Kind.Special() {
		if t.opts.Exclude == nil || !t.opts.Exclude(path, Info{Kind: e.Kind}) {
			t.skip(path, e.Kind.String())
		}
		return f, false, nil
	}
	info, err := statName(t.from.fd(), e.Name)
	if err != nil {
		return f, false, t.unreadable(path, err)
	}
	switch {
	case t.opts.Exclude != nil && t.opts.Exclude(path, info):
		return f, false, nil
	case info.Kind == KindSymlink:
		return f, false, w.link(e.Name, path, info)
	case info.Kind != KindFile:
		t.skip(path, info.Kind.String())
		return f, false, nil
	case info.Nlink > 1:
		t.mu.Lock()
		defer t.mu.Unlock()
		key := inode{info.Dev(), info.Ino}
		if g := t.first[key]; g != nil {
			t.links = append(t.links, linkLater{g, path, info})
			return f, false, nil
		}
		g := &linkGroup{path: path}
		t.first[key] = g
		return batchFile{e.Name, info, g}, true, nil
	}
	return batchFile{e.Name, info, nil}, true, nil
}

// send hands files of the present directory to a worker.
func (w *treeWalk) send(ctx context.Context, dir string, files []batchFile) error {
	if len(files) == 0 {
		return context.Cause(ctx)
	}
	b := batch{dir: dir, files: files, src: -1, dst: -1}
	var err error
	if b.src, err = unix.FcntlInt(uintptr(w.t.from.fd()), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return fail("copy tree", dir, err)
	}
	if b.dst, err = unix.FcntlInt(uintptr(w.t.to.fd()), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		_ = unix.Close(b.src)
		return fail("copy tree", dir, err)
	}
	select {
	case w.work <- b:
		return nil
	case <-ctx.Done():
		b.close()
		return context.Cause(ctx)
	}
}

// enter goes into a directory on both sides.
func (w *treeWalk) enter(ctx context.Context, e Entry) error {
	t := w.t
	path := t.srcRel(t.from.join(e.Name))
	info, err := statName(t.from.fd(), e.Name)
	if err != nil {
		return t.unreadable(path, err)
	}
	if t.opts.Exclude != nil && t.opts.Exclude(path, info) {
		return nil
	}
	if info.Identity() == t.target {
		t.skip(path, "the copy's own destination")
		return nil
	}
	if !t.opts.CrossMounts && info.MntID != t.start.MntID {
		t.skip(path, "mount point")
		return nil
	}
	if err := t.from.enter(e.Name, t.opts.CrossMounts); err != nil {
		if crossesMount(err) {
			t.skip(path, "mount point")
			return nil
		}
		return t.unreadable(path, err)
	}
	if info, err = statFD(t.from.fd()); err != nil {
		return fail("copy tree", t.from.dir.abs(t.srcPath(path)), err)
	}
	if err := w.makeDir(e.Name, path); err != nil {
		return err
	}
	w.node.kids = append(w.node.kids, &dirNode{name: e.Name, info: info, up: w.node})
	w.node = w.node.kids[len(w.node.kids)-1]
	return w.list(ctx)
}
