package tree

import (
	"context"
	"encoding/json"

	"github.com/ambit-run/ambit/fault"
)

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
