package fsop

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// Walk calls fn for every entry below the directory rel (not for rel itself),
// parents before children, siblings sorted by name bytes. path is relative to d.
// Links are reported, never followed; entries that vanish meanwhile are left
// out. It holds a constant number of descriptors whatever the depth. fn may
// return fs.SkipDir (do not enter this directory) or fs.SkipAll (end without an
// error). fn and the options' functions run in the calling goroutine.
func (d *Dir) Walk(ctx context.Context, rel string, opts WalkOptions, fn func(path string, info Info) error) error {
	t, err := d.descend("walk", rel)
	if err != nil {
		return err
	}
	defer t.close()
	w := &walker{ctx: ctx, t: t, opts: opts, fn: fn, mount: t.levels[0].id.MntID}
	err = w.run()
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

type walker struct {
	ctx   context.Context //nolint:containedctx // lives for one call of Walk
	t     *descent
	opts  WalkOptions
	fn    func(path string, info Info) error
	mount uint64
	seen  int
	todo  [][]Entry // what is left to do at each level
}

func (w *walker) run() error {
	if err := w.list(); err != nil {
		return err
	}
	for {
		top := len(w.todo) - 1
		if len(w.todo[top]) == 0 {
			w.todo = w.todo[:top]
			if top == 0 {
				return nil
			}
			if err := w.t.leave(); err != nil {
				return err
			}
			continue
		}
		e := w.todo[top][0]
		w.todo[top] = w.todo[top][1:]
		if err := w.visit(e); err != nil {
			return err
		}
	}
}

// list reads the directory just entered.
func (w *walker) list() error {
	if err := context.Cause(w.ctx); err != nil {
		return fail("walk", w.t.dir.abs(w.t.here()), err)
	}
	err := w.t.dir.before("getdents", w.t.here())
	var entries []Entry
	if err == nil {
		entries, err = readAll(w.t.fd())
	}
	if err != nil {
		if err := w.failed(w.t.here(), err); err != nil {
			return err
		}
	}
	w.todo = append(w.todo, entries)
	return nil
}

func (w *walker) failed(path string, err error) error {
	err = lookupFail("walk", w.t.dir.abs(path), err)
	if w.opts.OnError == nil {
		return err
	}
	return w.opts.OnError(path, err)
}

func (w *walker) visit(e Entry) error {
	path := w.t.join(e.Name)
	err := w.t.dir.before("statx", path)
	var info Info
	if err == nil {
		info, err = statName(w.t.fd(), e.Name)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return w.failed(path, err)
	}
	if w.seen++; w.opts.MaxEntries > 0 && w.seen > w.opts.MaxEntries {
		return fault.New(fault.Invalid, "walk", "%s has more than %d entries", show(w.t.dir.name), w.opts.MaxEntries)
	}
	if w.seen%256 == 0 {
		if err := context.Cause(w.ctx); err != nil {
			return fail("walk", w.t.dir.abs(path), err)
		}
	}
	switch err := w.fn(path, info); {
	case errors.Is(err, fs.SkipDir):
		return nil
	case err != nil:
		return err
	}
	if info.Kind != KindDir || (w.opts.SkipDir != nil && w.opts.SkipDir(path, info)) {
		return nil
	}
	if w.opts.MaxDepth > 0 && w.t.depth()+1 >= w.opts.MaxDepth {
		return nil
	}
	stay := w.opts.StayOnMount || w.t.dir.resolve&unix.RESOLVE_NO_XDEV != 0
	if stay && info.MntID != w.mount {
		return nil
	}
	err = w.t.enter(e.Name, !stay)
	switch {
	case err == nil:
		return w.list()
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil // gone or replaced since it was reported
	}
	return w.failed(path, err)
}
