package tree

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Undo reverses what Commit did, whole or half. See engine.Target.
func (t *Target) Undo(ctx context.Context, raw json.RawMessage) error {
	w, err := t.open(raw)
	if err != nil {
		return err
	}
	defer w.close()
	if done, err := marked(w.dir, undoneMark); err != nil || done {
		if err == nil {
			err = w.afterUndo()
		}
		return err
	}
	slots, err := w.slotsForUndo(ctx)
	if err != nil {
		return err
	}
	defer slots.Close()
	c := newCarrier(w.rec, w.root, w.dir, slots)
	defer c.close()
	if c.begun, err = w.begun(ctx); err != nil {
		return err
	}
	if err := c.backward(ctx); err != nil {
		return err
	}
	if err := c.sync(ctx); err != nil {
		return err
	}
	if err := c.found.err(fault.Conflict, "undo"); err != nil {
		return w.keepForNext(err)
	}
	if err := mark(w.dir, undoneMark); err != nil {
		return err
	}
	return w.afterUndo()
}

// slotsForUndo opens the slots; where Commit removed them from the target they
// are made again, from the copies in the plan's folder.
func (w *work) slotsForUndo(ctx context.Context) (*fsop.Dir, error) {
	if !w.rec.Stage.InTarget {
		return w.rec.Stage.open(w.root, w.dir)
	}
	through, err := marked(w.dir, committedMark)
	if err != nil {
		return nil, err
	}
	if !through {
		return w.rec.Stage.open(w.root, w.dir)
	}
	// The name is the recorded one, so whoever cleans up finds it. What an undo
	// that was cut off left in it are copies of what lies in the plan's folder, or
	// what it took out of the target: staged objects, which the sandbox still has.
	if err := w.root.Mkdir(w.rec.Stage.Name, 0o700); err != nil && !fault.Is(err, fault.Exists) {
		return nil, err
	}
	slots, err := w.rec.Stage.open(w.root, w.dir)
	if err != nil {
		return nil, err
	}
	if err := w.refill(ctx, slots); err != nil {
		// Nothing has moved yet, and all that lies here lies elsewhere, too: what
		// cannot go on, for want of space perhaps, leaves no folder behind.
		_ = slots.Close()
		_, _ = w.rec.Stage.drop(w.root, w.dir)
		return nil, err
	}
	return slots, w.root.Sync()
}

// refill brings back those pre-images whose slots are empty and whose step is
// still to be undone. What lies in a slot is never replaced.
func (w *work) refill(ctx context.Context, slots *fsop.Dir) error {
	missing, err := w.missing(ctx, slots)
	if err != nil {
		return err
	}
	return restage(ctx, w.dir, slots, missing)
}

// roomToUndo checks that the target has space for what refill will copy into it.
func (w *work) roomToUndo(ctx context.Context) error {
	if !w.rec.Stage.InTarget {
		return nil
	}
	through, err := marked(w.dir, committedMark)
	if err != nil || !through {
		return err
	}
	slots, err := w.rec.Stage.open(w.root, w.dir)
	switch {
	case fault.Is(err, fault.NotFound):
	case err != nil:
		return err
	default: // an undo was cut off
		defer slots.Close()
	}
	missing, err := w.missing(ctx, slots)
	if err != nil || len(missing) == 0 {
		return err
	}
	need := space{inodes: 1} // the folder of the slots
	for i := range missing {
		need.inodes++
		need.bytes += uint64(missing[i].Old.Size)
	}
	return need.check(w.root, "undo")
}

// missing are the steps whose pre-image has to be brought back. Without slots, all
// are empty.
func (w *work) missing(ctx context.Context, slots *fsop.Dir) ([]step, error) {
	var missing []step
	for i := range w.rec.Steps {
		st := &w.rec.Steps[i]
		if st.Old == nil {
			continue
		}
		if slots != nil {
			s, err := glance(slots, st.Slot)
			if err != nil {
				return nil, err
			}
			if s.there {
				continue // brought back before, or what the undo took out of the target
			}
		}
		at, err := glance(w.root, string(st.Path))
		if err != nil && !fault.Is(err, fault.Denied) {
			return nil, err
		}
		restored, err := st.Old.at(ctx, w.root, string(st.Path), at)
		if err != nil {
			return nil, err
		}
		if !restored {
			missing = append(missing, *st)
		}
	}
	return missing, nil
}

// backward reverses every step that was done, the last first. What is foreign by
// now is left alone and noted.
func (c *carrier) backward(ctx context.Context) error {
	if err := c.widen(); err != nil {
		return err
	}
	for _, st := range slices.Backward(c.rec.Steps) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var err error
		switch st.Op {
		case opRemove:
			err = c.removeBack(ctx, &st)
		case opPlace:
			err = c.placeBack(ctx, &st)
		case opSwap:
			err = c.swapBack(ctx, &st)
		}
		if err != nil {
			return err
		}
	}
	return c.settleBack()
}

// afterUndo drops slots and copies; the record stays, for a repetition.
func (w *work) afterUndo() error {
	if _, err := w.rec.Stage.drop(w.root, w.dir); err != nil {
		return err
	}
	if err := w.dir.RemoveAll(preName); err != nil {
		return err
	}
	return w.dir.RemoveAll(committedMark)
}

// keepForNext leaves the plan's folder so that the undo can be repeated once the
// conflict is settled. Nothing of ours stays in the target.
func (w *work) keepForNext(conflict error) error {
	if err := mark(w.dir, committedMark); err != nil {
		return err
	}
	if !w.rec.Stage.InTarget {
		return conflict
	}
	kept, err := w.rec.Stage.drop(w.root, w.dir)
	if err != nil {
		return err
	}
	if kept != "" {
		return fault.As(conflict).WithHint("objects that are not ours are kept in %s", kept)
	}
	return conflict
}
