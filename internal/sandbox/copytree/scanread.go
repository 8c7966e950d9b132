package copytree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// readBatch is how many entries a worker takes at a time.
const readBatch = 64

// read fills in what a look does not tell.
func (s *scanner) read(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.strat.workers)
	results := make([][]changeset.Skip, (len(s.pending)+readBatch-1)/readBatch)
	gone := make([]bool, len(s.m.entries))
	for n := range results {
		part := s.pending[n*readBatch : min((n+1)*readBatch, len(s.pending))]
		g.Go(func() error {
			for _, i := range part {
				e := &s.m.entries[i]
				err := s.readEntry(ctx, e)
				switch {
				case err == nil:
				case errors.Is(err, fs.ErrNotExist), fault.Is(err, fault.Conflict):
					gone[i] = true // vanished or became something else: a command is at work
				case errors.Is(err, fs.ErrPermission):
					results[n] = append(results[n], changeset.Skip{Path: e.path, Reason: "unreadable: permission denied"})
				default:
					return fmt.Errorf("read %q: %w", e.path, err)
				}
			}
			return context.Cause(ctx)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, r := range results {
		s.unreadable = append(s.unreadable, r...)
	}
	kept := s.m.entries[:0]
	for i := range s.m.entries {
		if !gone[i] {
			kept = append(kept, s.m.entries[i])
		}
	}
	s.m.entries = kept
	return nil
}

func (s *scanner) readEntry(ctx context.Context, e *entry) error {
	if e.kind == fsop.KindSymlink {
		text, err := s.tree.Readlink(e.path)
		e.link = text
		return err
	}
	if err := s.readXattrs(e); err != nil {
		return err
	}
	if e.kind != fsop.KindFile || e.hash != "" {
		return nil
	}
	hash, size, err := fsop.HashFile(ctx, s.tree, e.path)
	if err != nil {
		return err
	}
	e.hash = rawOf(hash)
	if size != e.size { // it is being written to
		e.size, e.ctime = size, 0
	}
	s.judge(e)
	return nil
}

// judge marks a file whose contents changed although its inode says that nobody
// wrote to it. Within one boot that cannot happen; after another one it is what
// a power cut leaves of data that had not reached the disk.
func (s *scanner) judge(e *entry) {
	if s.cache == nil || s.trust {
		return
	}
	old := s.cache.find(e.path)
	if old == nil || old.kind != e.kind || old.ino != e.ino || old.ctime != e.ctime || old.ctime == 0 || old.ctime >= s.cache.stamp {
		return
	}
	e.damaged = old.damaged || (old.hash != "" && old.hash != e.hash)
}

// readXattrs reads the attributes that belong to the state.
func (s *scanner) readXattrs(e *entry) error {
	names, err := s.tree.ListXattr(e.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !s.strat.keeps(name) {
			continue
		}
		v, err := s.tree.GetXattr(e.path, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if e.xattrs == nil {
			e.xattrs = map[string]string{}
		}
		e.xattrs[name] = string(v)
	}
	return nil
}

// keeps tells which attributes are part of a state.
func (s *Strategy) keeps(name string) bool {
	switch {
	case strings.HasPrefix(name, "user."), name == "system.posix_acl_access", name == "system.posix_acl_default":
		return true
	case name == "security.capability", strings.HasPrefix(name, "trusted."):
		return s.root
	}
	return false
}
