package tree

import (
	"context"
	"fmt"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// carrier carries steps out, or back, over held directories. Nothing here relies
// on what an earlier run may have written down: each step looks at its slot and
// its path, and does what is still to be done.
type carrier struct {
	rec     *record
	root    *fsop.Dir
	dir     *fsop.Dir // the plan's folder for this apply
	slots   *fsop.Dir
	held    *fsop.Dir // the folder of the step before: steps come sorted
	heldRel string
	touched map[string]bool // folders of the target whose entries changed
	rescued []string        // absolute paths of foreign objects that could not be put back
	found   conflicts       // what an undo must leave alone
	begun   bool            // an undo has something to undo
}

func newCarrier(rec *record, root, dir, slots *fsop.Dir) *carrier {
	return &carrier{rec: rec, root: root, dir: dir, slots: slots, touched: map[string]bool{}}
}

func (c *carrier) close() {
	if c.held != nil {
		_ = c.held.Close()
		c.held = nil
	}
}

// place is one name in a held folder of the target.
type place struct {
	dir    *fsop.Dir
	parent string // relative to the root
	base   string
	path   string // the whole of it, for messages
}

// hold opens the folder of a path, from the root down.
func (c *carrier) hold(path string) (place, error) {
	parent, base := fsop.SplitRel(path)
	if c.held == nil || c.heldRel != parent {
		c.close()
		at, err := c.root.OpenDir(parent)
		if err != nil {
			return place{}, err
		}
		c.held, c.heldRel = at, parent
	}
	return place{dir: c.held, parent: parent, base: base, path: path}, nil
}

// inPlace reports whether the held folder still is what its path leads to: one
// that was moved away meanwhile took our change with it.
func (c *carrier) inPlace(p place) (bool, error) {
	is, err := p.dir.Stat(".")
	if err != nil {
		return false, err
	}
	at, err := c.root.Stat(p.parent)
	if err != nil {
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Denied) || fault.Is(err, fault.Conflict) {
			return false, nil
		}
		return false, err
	}
	return is.Identity() == at.Identity(), nil
}

// sync makes every touched folder durable, and the slots'.
func (c *carrier) sync(ctx context.Context) error {
	n, err := syncersOn(c.root)
	if err != nil {
		return err
	}
	g := limited(ctx, n)
	for rel := range c.touched {
		g.Go(func() error {
			err := c.root.SyncDir(rel)
			switch fault.CodeOf(err) { //nolint:exhaustive // the rest failed
			case fault.NotFound, fault.Conflict, fault.Denied:
				return nil // gone or replaced with a later step, whose folder is touched, too
			}
			return err
		})
	}
	g.Go(c.slots.Sync)
	return g.Wait()
}

// changed is the error for a path that is not what Prepare saw.
func (c *carrier) changed(path, why string) error {
	e := fault.New(fault.IdentityChanged, "commit", "%s: %s", changeset.Quote(path), why).WithPaths(path)
	if n := len(c.rescued); n > 0 {
		e.Message += fmt.Sprintf("; an object that is not ours is kept as %s", changeset.Quote(c.rescued[n-1]))
		e.Hint = "look at " + c.rescued[n-1] + " and move it where it belongs"
	}
	return e
}

// keptAt spells where a pre-image stays that could not be restored.
func (c *carrier) keptAt(st *step) string {
	if c.rec.Stage.InTarget {
		return changeset.Quote(c.dir.Name() + "/" + preName + "/" + st.Slot)
	}
	return changeset.Quote(c.slots.Name() + "/" + st.Slot)
}

// rescue moves a foreign object out of a slot to where it stays until a person
// has looked at it.
func (c *carrier) rescue(slot string) error {
	in, name := c.dir, rescueName
	if c.rec.Stage.InTarget {
		in = c.slots
	}
	if err := in.MkdirAll(rescueName, 0o700); err != nil {
		return err
	}
	for n := 1; n < 1000; n++ {
		to := fmt.Sprintf("%s/%s-%d", name, slot, n)
		err := c.slots.Rename(slot, in, to)
		if fault.Is(err, fault.Exists) {
			continue
		}
		if err != nil {
			c.rescued = append(c.rescued, c.slots.Name()+"/"+slot)
			return err
		}
		c.rescued = append(c.rescued, in.Name()+"/"+to)
		return in.SyncDir(rescueName)
	}
	return fault.New(fault.Conflict, "rescue", "%s/%s is full", in.Name(), rescueName)
}
