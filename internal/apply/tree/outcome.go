package tree

import (
	"context"
	"errors"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/fault"
)

// lookupChanged says that a path cannot be reached any more as it was when the
// apply was prepared. Failures of the machine stay what they are.
func (c *carrier) lookupChanged(path string, err error) error {
	switch fault.CodeOf(err) { //nolint:exhaustive // the rest is no news about the tree
	case fault.NotFound, fault.Denied, fault.Conflict:
		return c.changed(path, "it cannot be reached any more: "+fault.As(err).Error())
	}
	return err
}

// stepFailed says what a refused rename means for the path.
func (c *carrier) stepFailed(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EBUSY),
		errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM),
		errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EISDIR):
		return c.changed(path, "it can no longer be changed: "+fault.As(err).Error())
	}
	return err
}

// unreachable is a path whose folder is gone when it is to be restored. That is
// in order unless something is waiting to be put there.
func (c *carrier) unreachable(ctx context.Context, st *step, err error) error {
	switch fault.CodeOf(err) { //nolint:exhaustive // the rest is no news about the tree
	case fault.NotFound, fault.Denied, fault.Conflict:
	default:
		return err
	}
	slot, gerr := glance(c.slots, st.Slot)
	if gerr != nil {
		return gerr
	}
	waiting, gerr := st.Old.at(ctx, c.slots, st.Slot, slot)
	if gerr != nil {
		return gerr
	}
	if waiting {
		c.found.add(string(st.Path), "its folder is gone; what it was is kept as "+c.keptAt(st))
	}
	return nil
}

// asConflict turns "changed" into a finding that an undo goes on after.
func (c *carrier) asConflict(path string, err error) error {
	if !fault.Is(err, fault.IdentityChanged) {
		return err
	}
	c.found.add(path, fault.As(err).Message)
	return nil
}

// limited is a group of at most n goroutines that is cancelled with ctx.
func limited(ctx context.Context, n int) *errgroup.Group {
	g, _ := errgroup.WithContext(ctx)
	g.SetLimit(n)
	return g
}
