package tree

import (
	"context"
	"errors"
	"os"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/internal/fsop"
)

// place moves the staged object to its name, which must be free.
func (c *carrier) place(ctx context.Context, st *step) error {
	slot, err := glance(c.slots, st.Slot)
	if err != nil {
		return err
	}
	parent, _ := fsop.SplitRel(string(st.Path))
	c.touched[parent] = true
	if !slot.there {
		return nil // done
	}
	p, err := c.hold(string(st.Path))
	if err != nil {
		return c.lookupChanged(string(st.Path), err)
	}
	staged, err := st.New.at(ctx, c.slots, st.Slot, slot)
	if err != nil {
		return err
	}
	if !staged {
		return c.changed(p.path, "what was staged for it was tampered with")
	}
	if err := c.slots.Rename(st.Slot, p.dir, p.base); err != nil {
		if errors.Is(err, os.ErrExist) {
			return c.changed(p.path, "something of that name was made after the apply was prepared")
		}
		return c.stepFailed(p.path, err)
	}
	ok, err := c.inPlace(p)
	if err != nil || ok {
		return err
	}
	at, err := glance(p.dir, p.base) // it was carried away: take it back
	if err == nil && slot.sameObject(at) {
		err = p.dir.Rename(p.base, c.slots, st.Slot)
	}
	if err != nil {
		return err
	}
	return c.changed(p.path, "its folder was moved while the apply was carried out")
}

// placeBack takes away what was placed, if it still is that.
func (c *carrier) placeBack(ctx context.Context, st *step) error {
	p, err := c.hold(string(st.Path))
	if err != nil {
		return c.unreachable(ctx, st, err)
	}
	slot, tgt, err := c.look(p, st.Slot)
	if err != nil {
		return err
	}
	if slot.there {
		return c.placeUndone(ctx, st, p, slot, tgt)
	}
	if !tgt.there {
		return nil // somebody took it away already
	}
	c.touched[p.parent] = true
	ours, err := st.New.unchanged(ctx, p.dir, p.base, tgt)
	if err != nil {
		return err
	}
	if !ours {
		c.found.add(p.path, "it changed since the apply created it")
		return nil
	}
	if err := p.dir.Rename(p.base, c.slots, st.Slot); err != nil {
		return c.asConflict(p.path, c.stepFailed(p.path, err))
	}
	got, err := glance(c.slots, st.Slot)
	if err != nil {
		return err
	}
	if !tgt.sameObject(got) {
		return c.asConflict(p.path, c.putBack(ctx, st, p, "it was replaced while it was being taken away"))
	}
	return c.emptiedOrBack(ctx, st, p)
}

// emptiedOrBack gives a created folder back that somebody put something into.
func (c *carrier) emptiedOrBack(ctx context.Context, st *step, p place) error {
	if st.New.Kind != changeset.Dir {
		return nil
	}
	entries, err := c.slots.ReadDir(st.Slot)
	if err != nil || len(entries) == 0 {
		return err
	}
	return c.asConflict(p.path, c.putBack(ctx, st, p, "the apply created it, and now it holds "+changeset.Quote(entries[0].Name)))
}

// placeUndone deals with a slot that is taken: by the staged object (nothing to
// undo), or by something foreign that a crash of an undo left there.
func (c *carrier) placeUndone(ctx context.Context, st *step, p place, slot, tgt sight) error {
	staged, err := st.New.at(ctx, c.slots, st.Slot, slot)
	if err != nil {
		return err
	}
	if staged {
		if tgt.there {
			return nil // not ours: it was there before us
		}
		return c.emptiedOrBack(ctx, st, p)
	}
	c.touched[p.parent] = true
	if tgt.there {
		if err := c.rescue(st.Slot); err != nil {
			return err
		}
		c.found.add(p.path, "it changed since the apply created it")
		return nil
	}
	return c.asConflict(p.path, c.putBack(ctx, st, p, "it changed since the apply created it"))
}
