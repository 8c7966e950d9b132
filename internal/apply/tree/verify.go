package tree

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

// Verify reads the target again and compares every path with what was meant. A
// difference is identity_changed and names all such paths.
func (t *Target) Verify(ctx context.Context, raw json.RawMessage) error {
	w, err := t.open(raw)
	if err != nil {
		return err
	}
	defer w.close()
	var found conflicts
	g := limited(ctx, readers)
	for i := range w.rec.Want {
		wanted := &w.rec.Want[i]
		g.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			why, err := w.differs(ctx, wanted)
			if why != "" {
				found.add(string(wanted.Path), why)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if w.rec.Stage.InTarget {
		if s, err := glance(w.root, w.rec.Stage.Name); err != nil || s.there {
			if err != nil {
				return err
			}
			found.add(w.rec.Stage.Name, "the folder for staged files was left behind")
		}
	}
	return found.err(fault.IdentityChanged, "verify")
}

func (w *work) differs(ctx context.Context, wanted *want) (why string, err error) {
	path := string(wanted.Path)
	s, err := study(ctx, w.root, path)
	switch {
	case wanted.Entry == nil && errors.Is(err, errLink):
		return "", nil // what leads through a link is no path of the resource
	case fault.Is(err, fault.Denied), fault.Is(err, fault.Conflict):
		return "it cannot be read again: " + fault.As(err).Error(), nil
	case err != nil:
		return "", err
	case wanted.Entry == nil && s.there:
		return "it should be gone", nil
	case wanted.Entry == nil:
		return "", nil
	case !s.there:
		return "it is not there", nil
	}
	is := s.entry()
	if wanted.Entry.Xattrs[capability] == "" {
		delete(is.Xattrs, capability)
	}
	meant := wanted.Entry
	if meant.Kind == changeset.Symlink {
		plain := *meant
		plain.Mode = 0
		meant = &plain
	}
	if !equal(meant, is) {
		return "it is not what was applied", nil
	}
	return "", nil
}
