package tree

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Options tune a Target. The zero value is what production uses.
type Options struct {
	// Intercept is called before every file-system call in the target and in the
	// plan's folder; see fsop.WithIntercept. For tests.
	Intercept fsop.Intercept
}

// Target carries changesets into the files of a directory or a git checkout. It
// keeps no state of its own and is safe for concurrent use on different
// directories; the engine's plan lock keeps two applies from one.
type Target struct{ opts Options }

var _ engine.Target = (*Target)(nil)

// New returns a target.
func New(opts Options) *Target { return &Target{opts: opts} }

// To is engine.ToWorktree.
func (t *Target) To() engine.ApplyTo { return engine.ToWorktree }

// openDir holds the plan's folder for one apply.
func (t *Target) openDir(path string) (*fsop.Dir, error) {
	return fsop.OpenRoot(path, t.rootOptions()...)
}

// openRoot holds the target. Mounts inside it are no part of it.
func (t *Target) openRoot(path string) (*fsop.Dir, error) {
	return fsop.OpenRoot(path, append(t.rootOptions(), fsop.NoXdev())...)
}

func (t *Target) rootOptions() []fsop.RootOption {
	if t.opts.Intercept == nil {
		return nil
	}
	return []fsop.RootOption{fsop.WithIntercept(t.opts.Intercept)}
}

// work is one apply that was prepared, opened again.
type work struct {
	rec  *record
	root *fsop.Dir
	dir  *fsop.Dir
}

func (w *work) close() {
	for _, d := range []*fsop.Dir{w.root, w.dir} {
		if d != nil {
			_ = d.Close()
		}
	}
}

// open takes up a prepared apply from what Prepare returned.
func (t *Target) open(raw json.RawMessage) (*work, error) {
	var st state
	if err := json.Unmarshal(raw, &st); err != nil {
		return nil, fault.Wrap(fault.Internal, "read apply state", err)
	}
	if st.Dir == "" || st.SHA256 == "" {
		return nil, fault.New(fault.Internal, "read apply state", "it names no record")
	}
	return t.openAt(string(st.Dir), st.SHA256)
}

func (t *Target) openAt(path, sum string) (w *work, err error) {
	w = &work{}
	defer func() {
		if err != nil {
			w.close()
			w = nil
		}
	}()
	if w.dir, err = t.openDir(path); err != nil {
		return w, err
	}
	if w.rec, err = loadRecord(w.dir, sum); err != nil {
		return w, err
	}
	if w.root, err = t.openRoot(string(w.rec.Root)); err != nil {
		return w, err
	}
	info, err := w.root.Stat(".")
	if err == nil && info.Ino != w.rec.RootIno {
		err = errOtherRoot(w.root.Name())
	}
	return w, err
}

func errOtherRoot(path string) error {
	return fault.New(fault.IdentityChanged, "open target", "%s is another directory than the one that was prepared", path).
		WithPaths(path).WithHint("put the original directory back and run `ambit recover`")
}

// Commit carries the apply out. See engine.Target.
func (t *Target) Commit(ctx context.Context, raw json.RawMessage) (err error) {
	w, err := t.open(raw)
	if err != nil {
		return err
	}
	defer w.close()
	if through, err := marked(w.dir, committedMark); err != nil || through {
		if err == nil {
			err = w.leaveTarget()
		}
		return err
	}
	slots, err := w.rec.Stage.open(w.root, w.dir)
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			err = fault.New(fault.IdentityChanged, "commit", "the staged files are gone from %s", w.stagePath()).WithPaths(w.stagePath()).WithCause(err)
		}
		return err
	}
	defer slots.Close()
	c := newCarrier(w.rec, w.root, w.dir, slots)
	defer c.close()
	if err := c.forward(ctx); err != nil {
		return err
	}
	if err := c.sync(ctx); err != nil {
		return err
	}
	if !w.rec.Stage.InTarget {
		return nil
	}
	if err := mark(w.dir, committedMark); err != nil {
		return err
	}
	return w.leaveTarget()
}

func (w *work) stagePath() string {
	if w.rec.Stage.InTarget {
		return w.root.Name() + "/" + w.rec.Stage.Name
	}
	return w.dir.Name() + "/" + w.rec.Stage.Name
}

// leaveTarget removes the slots' folder from the target, if it lies there.
func (w *work) leaveTarget() error {
	if !w.rec.Stage.InTarget {
		return nil
	}
	kept, err := w.rec.Stage.drop(w.root, w.dir)
	if err == nil && kept != "" {
		err = fault.New(fault.Conflict, "clean up", "objects that are not ours are kept in %s", kept).WithPaths(kept).
			WithHint("look at them, move them where they belong, and remove the folder")
	}
	return err
}

// forward carries out every step that is still to be done.
func (c *carrier) forward(ctx context.Context) error {
	if err := c.ready(); err != nil {
		return err
	}
	if err := c.widen(); err != nil {
		return err
	}
	for i := range c.rec.Steps {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		st := &c.rec.Steps[i]
		var err error
		switch st.Op {
		case opRemove:
			err = c.remove(ctx, st)
		case opPlace:
			err = c.place(ctx, st)
		case opSwap:
			err = c.swap(ctx, st)
		}
		if err != nil {
			return err
		}
	}
	return c.settle()
}

// Abandon drops what Prepare staged, also when it was cut off. See engine.Target.
// An apply that has begun to be carried out is not dropped: conflict.
func (t *Target) Abandon(ctx context.Context, path string, _ json.RawMessage) error {
	w, err := t.openAt(path, "")
	switch {
	case err == nil:
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.IdentityChanged):
		return t.abandonAlone(path, err)
	default:
		return err
	}
	defer w.close()
	begun, err := w.begun(ctx)
	if err != nil {
		return err
	}
	if begun {
		return fault.New(fault.Conflict, "abandon", "the apply to %s was begun already", w.root.Name()).
			WithHint("`ambit recover` finishes it")
	}
	if _, err := w.rec.Stage.drop(w.root, w.dir); err != nil {
		return err
	}
	return emptyOut(w.dir)
}

// abandonAlone cleans the plan's folder when there is no record yet, or the
// target is not there any more. A stage inside a target that was moved away
// cannot be reached: then the record stays, too, and why is said.
func (t *Target) abandonAlone(path string, why error) error {
	dir, err := t.openDir(path)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	rec, err := loadRecord(dir, "")
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err == nil && rec.Stage.InTarget && fault.Is(why, fault.IdentityChanged) {
		return why
	}
	return emptyOut(dir)
}

// emptyOut empties the plan's folder for this apply, but for what was rescued
// into it; the record goes last, since it says what else there is.
func emptyOut(dir *fsop.Dir) error {
	entries, err := dir.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name == rescueName || e.Name == recordName {
			continue
		}
		if err := dir.RemoveAll(e.Name); err != nil {
			return err
		}
	}
	return errors.Join(dir.RemoveAll(recordName), dir.Sync())
}

// begun reports whether any step was carried out and not undone: a slot holds
// what was displaced, or the target what was staged.
func (w *work) begun(ctx context.Context) (bool, error) {
	if through, err := marked(w.dir, committedMark); through || err != nil {
		return through, err
	}
	slots, err := w.rec.Stage.open(w.root, w.dir)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer slots.Close()
	for i := range w.rec.Steps {
		st := &w.rec.Steps[i]
		s, err := glance(slots, st.Slot)
		if err != nil {
			return false, err
		}
		if st.Op == opRemove && s.there {
			return true, nil
		}
		if displaced, err := st.Old.at(ctx, slots, st.Slot, s); displaced || err != nil {
			return true, err
		}
		if st.New == nil || s.there {
			continue
		}
		at, err := glance(w.root, string(st.Path))
		if err != nil && !fault.Is(err, fault.Denied) {
			return false, err
		}
		if placed, err := st.New.at(ctx, w.root, string(st.Path), at); placed || err != nil {
			return true, err
		}
	}
	return false, nil
}
