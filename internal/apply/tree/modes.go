package tree

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// A folder's mode has three values during an apply: from, wide (as long as
// entries in it change) and to. Any other was set by somebody else.

// folder looks at a recorded folder; there is false when it is not there (not
// made yet, gone already) or its path leads elsewhere.
func (c *carrier) folder(m *dirMode) (info fsop.Info, there bool, err error) {
	info, err = c.root.Stat(string(m.Path))
	switch {
	case err == nil:
		return info, info.Kind == fsop.KindDir, nil
	case absent(err), fault.Is(err, fault.Denied), fault.Is(err, fault.Conflict):
		return info, false, nil
	}
	return info, false, err
}

func (m *dirMode) knows(mode uint32) bool {
	return mode == m.From || mode == m.To || m.Wide != 0 && mode == m.Wide
}

// same reports whether this still is the recorded folder. One that this apply
// makes, or that an undo makes anew, has no inode to compare.
func (m *dirMode) same(info fsop.Info) bool {
	return m.Created || m.Removed || info.Ino == m.Ino
}

// widen opens folders for us that would refuse even their owner, from the top.
func (c *carrier) widen() error {
	for i := range c.rec.Modes {
		m := &c.rec.Modes[i]
		if m.Wide == 0 {
			continue
		}
		info, there, err := c.folder(m)
		if err != nil {
			return err
		}
		if !there || info.Mode == m.Wide || !m.same(info) || !m.knows(info.Mode) {
			continue // whoever needs it will find out
		}
		if err := c.root.Chmod(string(m.Path), m.Wide); err != nil {
			return err
		}
	}
	return nil
}

// ready sees to it before the first step that no folder's mode or attributes
// were changed by somebody else: those have no slots in which a change would show.
func (c *carrier) ready() error {
	for i := range c.rec.Modes {
		m := &c.rec.Modes[i]
		if m.Created || m.Removed {
			continue
		}
		path := string(m.Path)
		info, there, err := c.folder(m)
		if err != nil {
			return err
		}
		if !there || !m.same(info) {
			return c.changed(path, "the folder is another one than when the apply was prepared")
		}
		if !m.knows(info.Mode) {
			return c.changed(path, "its mode changed after the apply was prepared")
		}
		known, err := c.attrsKnown(m)
		if err != nil {
			return err
		}
		if known != "" {
			return c.changed(path, "its attribute "+changeset.Quote(known)+" changed after the apply was prepared")
		}
	}
	return nil
}

// attrsKnown names an attribute that is neither as before nor as it is to be.
func (c *carrier) attrsKnown(m *dirMode) (foreign string, err error) {
	for _, name := range attrNames(m.Old, m.New) {
		cur, err := c.attr(string(m.Path), name)
		if err != nil {
			return "", err
		}
		if !isValue(m.Old, name, cur) && !isValue(m.New, name, cur) {
			return name, nil
		}
	}
	return "", nil
}

// attr reads an attribute of a folder; nil = absent.
func (c *carrier) attr(path, name string) ([]byte, error) {
	v, err := c.root.GetXattr(path, name)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return v, err
}

func isValue(side map[string][]byte, name string, cur []byte) bool {
	v, ok := side[name]
	return ok == (cur != nil) && bytes.Equal(v, cur)
}

// settle gives folders their final mode and attributes, the deepest first.
func (c *carrier) settle() error {
	for _, m := range slices.Backward(c.rec.Modes) {
		if m.Removed {
			continue
		}
		if err := c.settleOne(&m, m.From, m.To, m.Old, m.New); err != nil {
			return err
		}
	}
	return nil
}

// settleOne brings one folder from its old mode and attributes to the new ones.
func (c *carrier) settleOne(m *dirMode, from, to uint32, old, now map[string][]byte) error {
	path := string(m.Path)
	info, there, err := c.folder(m)
	if err != nil {
		return err
	}
	if !there || !m.same(info) || !m.knows(info.Mode) {
		return c.changed(path, fmt.Sprintf("its mode was %04o and was changed after the apply was prepared", from))
	}
	for _, name := range attrNames(old, now) {
		if err := c.setAttr(path, name, old, now); err != nil {
			return err
		}
	}
	if len(old)+len(now) > 0 || to != from {
		c.touched[path] = true
	}
	if info.Mode == to {
		return nil
	}
	c.touched[path] = true
	return c.root.Chmod(path, to)
}

func attrNames(old, now map[string][]byte) []string {
	var names []string
	for _, m := range []map[string][]byte{old, now} {
		for k := range m {
			if !slices.Contains(names, k) {
				names = append(names, k)
			}
		}
	}
	slices.Sort(names)
	return names
}

func (c *carrier) setAttr(path, name string, old, now map[string][]byte) error {
	cur, err := c.attr(path, name)
	if err != nil {
		return err
	}
	switch v, ok := now[name]; {
	case isValue(now, name, cur):
		return nil
	case !isValue(old, name, cur):
		return c.changed(path, "its attribute "+changeset.Quote(name)+" was changed after the apply was prepared")
	case ok:
		return c.root.SetXattr(path, name, v)
	}
	return c.root.RemoveXattr(path, name)
}

// settleBack gives folders the mode and attributes they had, and those that were
// deleted and restored their time, too.
func (c *carrier) settleBack() error {
	for _, m := range slices.Backward(c.rec.Modes) {
		if m.Created {
			continue
		}
		path := string(m.Path)
		info, there, err := c.folder(&m)
		if err != nil {
			return err
		}
		if !there || !m.same(info) || !m.knows(info.Mode) {
			if c.begun { // else it was changed before the apply could touch it
				c.found.add(path, "it is gone, or its mode was changed since the apply")
			}
			continue
		}
		if err := c.asConflict(path, c.settleOne(&m, m.To, m.From, m.New, m.Old)); err != nil {
			return err
		}
		if m.Removed {
			if err := c.root.Chtimes(path, time.Unix(0, m.Mtime)); err != nil {
				return err
			}
		}
	}
	return nil
}
