package tree

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// syncers is how many files are made durable at once. On ext4 and xfs that
// halves the time; btrfs is faster one after the other (measured).
const syncers = 16

func syncersOn(d *fsop.Dir) (int, error) {
	info, err := d.Statfs()
	if err != nil {
		return 0, err
	}
	if info.Type == "btrfs" {
		return 1, nil
	}
	return syncers, nil
}

// stager fills slots with what will lie in the target.
type stager struct {
	*survey
	slots *fsop.Dir
	heirs map[string]heir
	group *errgroup.Group
}

// fill makes the object of every place and swap, durably, and records it.
// Contents are read one after the other; only waiting for the disk is shared.
func (s *stager) fill(ctx context.Context, steps []step) error {
	n, err := syncersOn(s.slots)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(n)
	s.group, s.heirs = g, map[string]heir{}
	for i := range steps {
		st := &steps[i]
		if st.Op == opRemove {
			continue
		}
		if err = context.Cause(gctx); err == nil {
			err = s.make(ctx, st)
		}
		if err != nil {
			break
		}
	}
	if werr := g.Wait(); werr != nil && (err == nil || gctx.Err() != nil && ctx.Err() == nil) {
		err = werr
	}
	if err != nil {
		return err
	}
	for i := range steps {
		st := &steps[i]
		if st.Op == opRemove {
			continue
		}
		if err := s.record(st); err != nil {
			return err
		}
	}
	return s.slots.Sync()
}

// make makes one object in its slot.
func (s *stager) make(ctx context.Context, st *step) error {
	it := s.items[string(st.Path)]
	heir, err := s.inherits(it.path, s.heirs)
	if err != nil {
		return err
	}
	switch it.becomes() {
	case changeset.Symlink:
		if err := s.slots.Symlink(it.result.Link, st.Slot); err != nil {
			return err
		}
		return s.own(it, st, heir)
	case changeset.Dir:
		if err := s.slots.Mkdir(st.Slot, it.result.Mode|0o700); err != nil {
			return err
		}
		return s.dress(it, st, heir, it.result.Mode|0o700)
	case changeset.File:
		return s.file(ctx, it, st, heir)
	}
	return fault.New(fault.Invalid, "prepare", "%s has no kind that can be applied", changeset.Quote(it.path))
}

// file writes contents into a slot and lets them become durable in the background.
func (s *stager) file(ctx context.Context, it *item, st *step, heir heir) error {
	f, sum, err := s.contents(ctx, it, st)
	if err != nil {
		return err
	}
	if sum != it.result.Hash {
		_ = f.Close()
		return notReviewed(it.path)
	}
	if err := s.dress(it, st, heir, it.result.Mode); err != nil {
		_ = f.Close()
		return err
	}
	s.group.Go(func() error {
		err := s.slots.SyncFile(f, st.Slot)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	})
	return nil
}

// contents brings a file's bytes into the slot.
func (s *stager) contents(ctx context.Context, it *item, st *step) (*os.File, string, error) {
	var r io.Reader
	switch it.source {
	case fromMerge:
		r = bytes.NewReader(it.merged)
	case fromPresent: // shared blocks where the file system can, and the time stays
		res, err := fsop.CopyFile(ctx, s.root, it.path, s.slots, st.Slot, fsop.CopyOptions{Hash: true, SkipXattr: carried})
		if err != nil {
			return nil, "", err
		}
		f, _, err := s.slots.Open(st.Slot)
		return f, res.SHA256, err
	case fromPlan:
		rc, err := s.req.Src.Open(changeset.After, it.path)
		if err != nil {
			return nil, "", fault.Wrap("", "read "+changeset.Quote(it.path)+" in the sandbox", err)
		}
		defer rc.Close()
		r = rc
	}
	f, _, sum, err := fsop.WriteNew(ctx, s.slots, st.Slot, r)
	return f, sum, err
}

// record looks at what was staged, so that it is known again.
func (s *stager) record(st *step) error {
	it := s.items[string(st.Path)]
	seen, err := glance(s.slots, st.Slot)
	if err != nil {
		return err
	}
	if !seen.there {
		return fault.New(fault.Internal, "prepare", "the staged %s is gone", changeset.Quote(it.path))
	}
	id := identOf(seen)
	id.Hash = it.result.Hash
	for k, v := range it.result.Xattrs {
		if id.Xattrs == nil {
			id.Xattrs = map[string][]byte{}
		}
		id.Xattrs[k] = []byte(v)
	}
	if id.Kind == changeset.Dir {
		id.Wide, id.Mode = id.Mode, it.result.Mode
	}
	if id.Kind == changeset.File && (id.Size != it.result.Size || id.Mode != it.result.Mode) ||
		id.Kind == changeset.Symlink && strings.Compare(string(id.Link), it.result.Link) != 0 {
		return fault.New(fault.Internal, "prepare", "the staged %s is not what was to be staged", changeset.Quote(it.path))
	}
	st.New = id
	return nil
}
