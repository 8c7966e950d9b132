package tree

import (
	"context"
	"errors"
	"os"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/internal/fsop"
)

// maxTurns bounds a fight over one name with somebody who replaces it again and
// again. Each turn puts back what was newest.
const maxTurns = 32

// look glances at a slot and at the path it belongs to.
func (c *carrier) look(p place, slot string) (inSlot, atPath sight, err error) {
	if inSlot, err = glance(c.slots, slot); err != nil {
		return
	}
	atPath, err = glance(p.dir, p.base)
	return
}

// swap exchanges a staged object with what Prepare saw at the path: a
// compare-and-swap on the object. What is displaced stays in the slot.
func (c *carrier) swap(ctx context.Context, st *step) error {
	parent, _ := fsop.SplitRel(string(st.Path))
	c.touched[parent] = true
	if done, err := c.displaced(ctx, st); done || err != nil {
		return err
	}
	p, err := c.hold(string(st.Path))
	if err != nil {
		return c.lookupChanged(string(st.Path), err)
	}
	slot, tgt, err := c.look(p, st.Slot)
	if err != nil {
		return c.lookupChanged(p.path, err)
	}
	staged, err := st.New.at(ctx, c.slots, st.Slot, slot)
	if err != nil {
		return err
	}
	if !staged {
		return c.swapForeign(ctx, st, p, slot, tgt)
	}
	same, err := st.Old.untouched(ctx, p.dir, p.base, tgt)
	if err != nil {
		return c.lookupChanged(p.path, err)
	}
	if !same {
		return c.changed(p.path, "it changed after the apply was prepared")
	}
	if st.splits(tgt) {
		return c.changed(p.path, "it got hard links, which replacing it would split")
	}
	if err := c.slots.Exchange(st.Slot, p.dir, p.base); err != nil {
		return c.stepFailed(p.path, err)
	}
	return c.confirmSwap(ctx, st, p, tgt, slot, "it was replaced while it was being applied")
}

// splits reports whether replacing the object would part it from other names of
// its own. A link that takes the place of a file parts nothing.
func (st *step) splits(s sight) bool {
	return s.info.Kind == fsop.KindFile && s.info.Nlink > 1 && st.New.Kind == changeset.File
}

// confirmSwap looks at what an exchange displaced; wanted is what was at the path
// before, put what we put there. Anything else is given back.
func (c *carrier) confirmSwap(ctx context.Context, st *step, p place, wanted, put sight, why string) error {
	got, err := glance(c.slots, st.Slot)
	if err != nil {
		return err
	}
	ok, err := c.inPlace(p)
	if err != nil {
		return err
	}
	if ok && wanted.sameObject(got) && (st.splits(wanted) || !st.splits(got)) {
		return nil
	}
	if err := c.giveBack(ctx, st, p, got, put); err != nil {
		return err
	}
	return c.changed(p.path, why)
}

// giveBack reverses an exchange that displaced something foreign. cur is what
// lies in the slot now, put what we left at the path. If somebody was faster and
// replaced that, too, their object is newer than the one we just put back, and
// goes back in its turn; what it replaced stays as a rescued object.
func (c *carrier) giveBack(ctx context.Context, st *step, p place, cur, put sight) error {
	for range maxTurns {
		err := c.slots.Exchange(st.Slot, p.dir, p.base)
		if errors.Is(err, os.ErrNotExist) { // they removed the name: that is their newest word
			return c.keepForeign(ctx, st, cur)
		}
		if err != nil {
			return errors.Join(c.stepFailed(p.path, err), c.keepForeign(ctx, st, cur))
		}
		got, err := glance(c.slots, st.Slot)
		if err != nil {
			return err
		}
		if put.sameObject(got) {
			return c.keepForeign(ctx, st, got)
		}
		cur, put = got, cur
	}
	return c.keepForeign(ctx, st, cur)
}

// keepForeign rescues what lies in a slot unless it is this apply's own.
func (c *carrier) keepForeign(ctx context.Context, st *step, s sight) error {
	for _, own := range []*ident{st.New, st.Old} {
		if own == nil {
			continue
		}
		if ok, err := own.at(ctx, c.slots, st.Slot, s); ok || err != nil {
			return err
		}
	}
	if !s.there {
		return nil
	}
	return c.rescue(st.Slot)
}

// displaced reports whether the slot holds the pre-image: the step was done,
// whatever has become of the path since.
func (c *carrier) displaced(ctx context.Context, st *step) (bool, error) {
	slot, err := glance(c.slots, st.Slot)
	if err != nil {
		return false, err
	}
	return st.Old.at(ctx, c.slots, st.Slot, slot)
}

// swapForeign deals with a slot that holds neither the staged nor the displaced
// object: something foreign that a crash left there before it could be given back.
func (c *carrier) swapForeign(ctx context.Context, st *step, p place, slot, tgt sight) error {
	if !slot.there {
		return c.changed(p.path, "what was staged for it is gone")
	}
	ours, err := st.New.at(ctx, p.dir, p.base, tgt)
	if err != nil {
		return err
	}
	if ours {
		err = c.giveBack(ctx, st, p, slot, tgt)
	} else {
		err = c.rescue(st.Slot)
	}
	if err != nil {
		return err
	}
	return c.changed(p.path, "it was replaced while it was being applied")
}

// swapBack exchanges once more, if the path still holds what was put there.
func (c *carrier) swapBack(ctx context.Context, st *step) error {
	p, err := c.hold(string(st.Path))
	if err != nil {
		return c.unreachable(ctx, st, err)
	}
	slot, tgt, err := c.look(p, st.Slot)
	if err != nil {
		return err
	}
	c.touched[p.parent] = true
	if undone, err := st.New.at(ctx, c.slots, st.Slot, slot); undone || err != nil {
		return err
	}
	displaced, err := st.Old.at(ctx, c.slots, st.Slot, slot)
	if err != nil {
		return err
	}
	ours, err := st.New.unchanged(ctx, p.dir, p.base, tgt)
	if err != nil {
		return err
	}
	was, err := st.Old.unchanged(ctx, p.dir, p.base, tgt)
	if err != nil {
		return err
	}
	switch {
	case displaced && ours:
		if err := c.slots.Exchange(st.Slot, p.dir, p.base); err != nil {
			return c.asConflict(p.path, c.stepFailed(p.path, err))
		}
		err := c.confirmSwap(ctx, st, p, tgt, slot, "it was replaced while it was being restored")
		return c.asConflict(p.path, err)
	case was && (displaced || !slot.there):
		return nil // somebody restored it already
	case displaced:
		c.found.add(p.path, "it changed since the apply; what it was before is kept as "+c.keptAt(st))
		return nil
	case !slot.there:
		c.found.add(p.path, "what it was before is gone from "+c.slots.Name())
		return nil
	case ours: // a crash of Commit, before it could give a foreign object back
		return c.giveBack(ctx, st, p, slot, tgt)
	case was: // a crash of an undo, likewise
		if err := c.giveBack(ctx, st, p, slot, tgt); err != nil {
			return err
		}
	default:
		if err := c.rescue(st.Slot); err != nil {
			return err
		}
	}
	c.found.add(p.path, "it changed since the apply")
	return nil
}
