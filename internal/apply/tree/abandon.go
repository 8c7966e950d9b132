package tree

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

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
