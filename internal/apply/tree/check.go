package tree

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// CheckUndo says what Undo would have to leave alone, changing nothing. See
// engine.Target.
func (t *Target) CheckUndo(ctx context.Context, raw json.RawMessage) error {
	w, err := t.open(raw)
	if err != nil {
		return err
	}
	defer w.close()
	if done, err := marked(w.dir, undoneMark); err != nil || done {
		return err
	}
	slots, err := w.slotsToLookAt()
	if err != nil {
		return err
	}
	defer slots.Close()
	k := &checker{carrier: newCarrier(w.rec, w.root, w.dir, slots), removes: map[string]bool{}, places: map[string]bool{}}
	defer k.close()
	if err := k.run(ctx); err != nil {
		return err
	}
	if err := k.found.err(fault.Conflict, "undo"); err != nil {
		return err
	}
	return w.roomToUndo(ctx)
}

// slotsToLookAt opens the slots, or the copies that stand for them: those have
// the same names, and nothing where a staged object was.
func (w *work) slotsToLookAt() (*fsop.Dir, error) {
	if w.rec.Stage.InTarget {
		through, err := marked(w.dir, committedMark)
		if err != nil {
			return nil, err
		}
		if through {
			slots, err := w.rec.Stage.open(w.root, w.dir) // there when an undo was cut off
			if fault.Is(err, fault.NotFound) {
				return w.dir.OpenDir(preName)
			}
			return slots, err
		}
	}
	return w.rec.Stage.open(w.root, w.dir)
}

// checker judges the way back without going it.
type checker struct {
	*carrier
	removes, places map[string]bool
}

func (k *checker) run(ctx context.Context) error {
	for i := range k.rec.Steps {
		switch st := &k.rec.Steps[i]; st.Op {
		case opRemove:
			k.removes[string(st.Path)] = true
		case opPlace, opSwap:
			k.places[string(st.Path)] = true
		}
	}
	for i := range k.rec.Steps {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := k.step(ctx, &k.rec.Steps[i]); err != nil {
			return err
		}
	}
	for i := range k.rec.Modes {
		if err := k.mode(&k.rec.Modes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) step(ctx context.Context, st *step) error {
	path := string(st.Path)
	slot, err := glance(k.slots, st.Slot)
	if err != nil {
		return err
	}
	tgt, err := glance(k.root, path)
	if errors.Is(err, errLink) && k.placedAbove(path) {
		err = nil // the link is this apply's own and goes first
	}
	if fault.Is(err, fault.Denied) {
		k.found.add(path, reasonOf(err))
		return nil
	}
	if err != nil {
		return err
	}
	note := func(ok bool, ierr error) bool {
		if err == nil {
			err = ierr
		}
		return ok
	}
	staged := func() bool { return note(st.New.at(ctx, k.slots, st.Slot, slot)) }
	isNew := func() bool { return note(st.New.unchanged(ctx, k.root, path, tgt)) }
	isOld := func() bool { return note(st.Old.unchanged(ctx, k.root, path, tgt)) }
	switch st.Op {
	case opSwap:
		switch {
		case staged(), isNew(), isOld():
		default:
			k.found.add(path, "it changed since the apply")
		}
	case opPlace:
		switch {
		case slot.there, !tgt.there:
		case !isNew():
			k.found.add(path, "it changed since the apply created it")
		case st.New.Kind == changeset.Dir:
			return k.onlyOurs(path)
		}
	case opRemove:
		switch {
		case !slot.there:
		case tgt.there && !k.places[path] && !isOld():
			k.found.add(path, "it was deleted by the apply and made anew since")
		case !tgt.there:
			return k.folderFor(path)
		}
	}
	return err
}

// placedAbove reports whether the apply put something in the place of a folder
// above the path.
func (k *checker) placedAbove(path string) bool {
	for dir, _ := fsop.SplitRel(path); dir != "."; dir, _ = fsop.SplitRel(dir) {
		if k.places[dir] {
			return true
		}
	}
	return false
}

// onlyOurs reports a created folder that holds something the apply did not put there.
func (k *checker) onlyOurs(path string) error {
	entries, err := k.root.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !k.places[fsop.Join(path, e.Name)] {
			k.found.add(path, "the apply created it, and now it holds "+changeset.Quote(e.Name))
			return nil
		}
	}
	return nil
}

// folderFor reports a deleted entry that has no folder to be put back into.
func (k *checker) folderFor(path string) error {
	parent, _ := fsop.SplitRel(path)
	if k.removes[parent] {
		return nil // restored before it
	}
	s, err := glance(k.root, parent)
	if err != nil && !fault.Is(err, fault.Denied) {
		return err
	}
	if !s.there || s.info.Kind != fsop.KindDir {
		k.found.add(path, "its folder is gone")
	}
	return nil
}

func (k *checker) mode(m *dirMode) error {
	path := string(m.Path)
	if m.Created || m.Removed && k.removes[path] {
		return nil // judged as steps
	}
	info, there, err := k.folder(m)
	switch {
	case err != nil:
		return err
	case !there || !m.same(info):
		k.found.add(path, "it is gone")
		return nil
	case !m.knows(info.Mode):
		k.found.add(path, "its mode was changed since the apply")
		return nil
	}
	foreign, err := k.attrsKnown(m)
	if foreign != "" {
		k.found.add(path, "its attribute "+changeset.Quote(foreign)+" was changed since the apply")
	}
	return err
}
