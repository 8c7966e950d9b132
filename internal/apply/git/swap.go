package git

import (
	"context"
	"slices"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// swapper exchanges files of a checkout with those that wait in the stage.
// Forward makes each path what it is to become, backward what it was.
type swapper struct {
	*job
	back bool

	dirs map[string]bool // directories in which names changed
}

func (w *swapper) want(s *step) side {
	if w.back {
		return s.Before
	}
	return s.After
}

func (w *swapper) was(s *step) side {
	if w.back {
		return s.After
	}
	return s.Before
}

// foreign lists the paths that are neither what they were nor what they are to
// become: somebody else's work since.
func (w *swapper) foreign(ctx context.Context) ([]string, error) {
	var paths []string
	for i := range w.plan.Steps {
		s := &w.plan.Steps[i]
		if s.Slot == "" {
			continue
		}
		now, err := look(ctx, w.root, string(s.Path))
		if err != nil {
			return nil, err
		}
		if now.Kind == other && w.mayBeDir(s) {
			now = side{}
		}
		if !now.equal(w.want(s)) && !now.equal(w.was(s)) {
			paths = append(paths, string(s.Path))
		}
	}
	return paths, nil
}

// mayBeDir reports whether a directory at the path is what a half-done apply
// has, or leaves: one that a file takes the place of, or that takes a file's.
func (w *swapper) mayBeDir(s *step) bool {
	for _, list := range [][]folder{w.plan.Emptied, w.plan.Made} {
		for _, f := range list {
			if string(f.Path) == string(s.Path) {
				return s.Before.Kind == absent || s.After.Kind == absent
			}
		}
	}
	return false
}

// run carries all steps out: removals first, then directories, then the rest, so
// that files and directories can take each other's place. Steps that are done
// are skipped. Paths that turn out to be somebody else's are left alone and named.
func (w *swapper) run(ctx context.Context) ([]string, error) {
	w.dirs = map[string]bool{}
	var foreign []string
	each := func(removals bool) error {
		for i := range w.plan.Steps {
			s := &w.plan.Steps[i]
			if s.Slot == "" || (w.want(s).Kind == absent) != removals {
				continue
			}
			if err := context.Cause(ctx); err != nil {
				return fault.Wrap("", "apply", err)
			}
			ok, err := w.one(ctx, s)
			if err != nil {
				return err
			}
			if !ok {
				foreign = append(foreign, string(s.Path))
			}
		}
		return nil
	}
	if err := each(true); err != nil {
		return nil, err
	}
	if err := w.folders(); err != nil {
		return nil, err
	}
	if err := each(false); err != nil {
		return nil, err
	}
	return foreign, w.sync()
}

// folders removes directories that are empty now and makes those that new files
// need.
func (w *swapper) folders() error {
	gone, made := slices.Clone(w.plan.Emptied), w.plan.Made
	if w.back {
		gone, made = slices.Clone(w.plan.Made), slices.Clone(w.plan.Emptied)
		slices.Reverse(gone)
		slices.Reverse(made)
	}
	for _, f := range gone {
		removed, err := w.removeDir(string(f.Path))
		if err != nil {
			return err
		}
		if removed {
			w.changed(string(f.Path))
		}
	}
	for _, f := range made {
		path := string(f.Path)
		switch err := w.root.Mkdir(path, f.Mode); {
		case err == nil:
			w.changed(path)
		case fault.Is(err, fault.Exists), fault.Is(err, fault.NotFound), blocked(err):
			// there already; or not needed, its parent being somebody else's now
		default:
			return err
		}
	}
	return nil
}

// one makes one path what it is to become. It reports false, leaving everything
// as it was, when the path is somebody else's.
func (w *swapper) one(ctx context.Context, s *step) (bool, error) {
	path, want, was := string(s.Path), w.want(s), w.was(s)
	now, err := look(ctx, w.root, path)
	if err != nil {
		return false, err
	}
	if now.equal(want) || want.Kind == absent && now.Kind == other && w.mayBeDir(s) {
		return true, nil // done
	}
	if !now.equal(was) {
		return false, nil
	}
	if err := w.ready(ctx, s); err != nil {
		return false, err
	}
	w.changed(path)
	switch {
	case now.Kind == absent:
		err := w.stage.Rename(s.Slot, w.root, path)
		if fault.Is(err, fault.Exists) {
			return false, nil
		}
		return err == nil, err
	case want.Kind == absent:
		if err := w.root.Rename(path, w.stage, s.Slot); err != nil {
			return false, err
		}
	default:
		if err := w.stage.Exchange(s.Slot, w.root, path); err != nil {
			return false, err
		}
	}
	// What was displaced is looked at now that nobody can change it by this name.
	displaced, err := look(ctx, w.stage, s.Slot)
	if err != nil {
		return false, err
	}
	if displaced.equal(was) {
		return true, nil
	}
	if want.Kind == absent {
		return false, w.stage.Rename(s.Slot, w.root, path)
	}
	return false, w.stage.Exchange(s.Slot, w.root, path)
}

// ready makes sure that what the path is to become waits in the stage. Forward
// it was put there by Prepare; backward it comes from the pre-images unless the
// displaced file itself is still there.
func (w *swapper) ready(ctx context.Context, s *step) error {
	want := w.want(s)
	waiting, err := look(ctx, w.stage, s.Slot)
	if err != nil {
		return err
	}
	if waiting.equal(want) {
		return nil
	}
	if !w.back {
		return fault.New(fault.Stale, "apply", "the staged contents of %q are gone", s.Path).WithPaths(string(s.Path))
	}
	if err := w.stage.RemoveAll(s.Slot); err != nil {
		return err
	}
	switch want.Kind {
	case absent:
		return nil
	case symlink:
		return w.stage.Symlink(string(want.Link), s.Slot)
	}
	res, err := fsop.CopyFile(ctx, w.keep, s.Slot, w.stage, s.Slot, fsop.CopyOptions{Hash: true, Sync: true})
	if err != nil {
		return err
	}
	if res.SHA256 != want.Sum {
		return fault.New(fault.Stale, "undo", "the kept version of %q is damaged", s.Path).WithPaths(string(s.Path))
	}
	return nil
}

func (w *swapper) changed(path string) {
	dir, _ := fsop.SplitRel(path)
	w.dirs[dir] = true
}

// sync makes the new names durable.
func (w *swapper) sync() error {
	for dir := range w.dirs {
		err := w.root.SyncDir(dir)
		if err != nil && !fault.Is(err, fault.NotFound) && !blocked(err) {
			return err
		}
	}
	return w.stage.Sync()
}
