package tree

import (
	"context"
	"errors"
	"syscall"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// remove moves what lies at the path into the slot, looks at it there, and leaves
// it there as the pre-image.
func (c *carrier) remove(ctx context.Context, st *step) error {
	parent, _ := fsop.SplitRel(string(st.Path))
	c.touched[parent] = true
	p, err := c.hold(string(st.Path))
	if err != nil {
		// Folders above it go in later steps: then this one was done before.
		if done, derr := c.displaced(ctx, st); done || derr != nil {
			return derr
		}
		return c.lookupChanged(string(st.Path), err)
	}
	slot, tgt, err := c.look(p, st.Slot)
	if err != nil {
		return c.lookupChanged(p.path, err)
	}
	if slot.there {
		return c.removeDone(ctx, st, p, slot, tgt)
	}
	same, err := st.Old.untouched(ctx, p.dir, p.base, tgt)
	if err != nil {
		return c.lookupChanged(p.path, err)
	}
	if !tgt.there || !same {
		return c.changed(p.path, "it changed after the apply was prepared")
	}
	err = p.dir.Rename(p.base, c.slots, st.Slot)
	if st.Old.Kind == changeset.Dir && (errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)) {
		return c.removeDir(ctx, st, p)
	}
	if err != nil {
		return c.stepFailed(p.path, err)
	}
	got, err := glance(c.slots, st.Slot)
	if err != nil {
		return err
	}
	ok, err := c.inPlace(p)
	if err != nil {
		return err
	}
	if ok && tgt.sameObject(got) {
		return c.mustBeEmpty(ctx, st, p)
	}
	return c.putBack(ctx, st, p, "it was replaced while it was being deleted")
}

// mustBeEmpty gives a folder back that holds something: what the plan knew of
// had gone before.
func (c *carrier) mustBeEmpty(ctx context.Context, st *step, p place) error {
	if st.Old.Kind != changeset.Dir {
		return nil
	}
	entries, err := c.slots.ReadDir(st.Slot)
	if err != nil || len(entries) == 0 {
		return err
	}
	return c.putBack(ctx, st, p, "it holds "+changeset.Quote(entries[0].Name)+", which is not the plan's")
}

// putBack returns what a move brought into the slot to its name, and reports the
// path as changed. A name that was taken meanwhile is newer and stays.
func (c *carrier) putBack(ctx context.Context, st *step, p place, why string) error {
	err := c.slots.Rename(st.Slot, p.dir, p.base)
	if err != nil {
		seen, gerr := glance(c.slots, st.Slot)
		if gerr != nil {
			return errors.Join(err, gerr)
		}
		if kerr := c.keepForeign(ctx, st, seen); kerr != nil {
			return errors.Join(err, kerr)
		}
		if !fault.Is(err, fault.Exists) && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return c.changed(p.path, why)
}

// removeDir removes an empty folder that cannot be moved (a lower folder of an
// overlay; one that we may not write to): a copy of it goes into the slot first.
// rmdir takes no folder that holds anything.
func (c *carrier) removeDir(ctx context.Context, st *step, p place) error {
	if _, err := copyObject(ctx, p.dir, p.base, c.slots, st.Slot, st.Old); err != nil {
		return err
	}
	err := p.dir.Remove(p.base)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		if rerr := c.slots.RemoveAll(st.Slot); rerr != nil { // the copy; nothing was moved
			return rerr
		}
		return c.changed(p.path, "it holds files that are not the plan's")
	}
	return c.stepFailed(p.path, err)
}

// removeDone deals with a slot that is taken: by the pre-image, or by something
// foreign that a crash left there before it could be put back.
func (c *carrier) removeDone(ctx context.Context, st *step, p place, slot, tgt sight) error {
	done, err := st.Old.at(ctx, c.slots, st.Slot, slot)
	if err != nil {
		return err
	}
	if !done {
		if !tgt.there {
			return c.putBack(ctx, st, p, "it was replaced while it was being deleted")
		}
		if err := c.rescue(st.Slot); err != nil {
			return err
		}
		return c.changed(p.path, "it was replaced while it was being deleted")
	}
	if st.Old.Kind != changeset.Dir {
		return nil
	}
	if st.Old.object(tgt) { // a copy was made, and then a crash
		return c.removeDir(ctx, st, p)
	}
	return c.mustBeEmpty(ctx, st, p)
}

// removeBack puts the pre-image back, if the name is free.
func (c *carrier) removeBack(ctx context.Context, st *step) error {
	p, err := c.hold(string(st.Path))
	if err != nil {
		return c.unreachable(ctx, st, err)
	}
	slot, tgt, err := c.look(p, st.Slot)
	if err != nil {
		return err
	}
	if !slot.there {
		return nil // never removed, or restored
	}
	c.touched[p.parent] = true
	kept, err := st.Old.at(ctx, c.slots, st.Slot, slot)
	if err != nil {
		return err
	}
	switch {
	case !tgt.there: // ours, or foreign and left there by a crash
		if kept && st.Old.Kind == changeset.Dir && slot.info.Mode&0o300 != 0o300 {
			if err := c.slots.Chmod(st.Slot, st.Old.Wide); err != nil { // else it cannot be moved
				return err
			}
		}
		err := c.slots.Rename(st.Slot, p.dir, p.base)
		if fault.Is(err, fault.Exists) {
			break
		}
		if err != nil {
			return c.asConflict(p.path, c.stepFailed(p.path, err))
		}
		return c.stillInPlace(p)
	case kept:
		was, err := st.Old.unchanged(ctx, p.dir, p.base, tgt)
		if err != nil || was {
			return err // somebody restored it, or a copy was made and then a crash
		}
	}
	if !kept {
		if err := c.rescue(st.Slot); err != nil {
			return err
		}
		c.found.add(p.path, "it was replaced while it was being deleted")
		return nil
	}
	c.found.add(p.path, "it was deleted by the apply and made anew since; what it was is kept as "+c.keptAt(st))
	return nil
}

// stillInPlace reports a restored entry whose folder was moved away meanwhile.
func (c *carrier) stillInPlace(p place) error {
	ok, err := c.inPlace(p)
	if err == nil && !ok {
		c.found.add(p.path, "its folder was moved while it was being restored")
	}
	return err
}
