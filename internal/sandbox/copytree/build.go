package copytree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// build makes a state in build and returns its manifest.
func (s *Sandbox) build(ctx context.Context, dir, tree *fsop.Dir, now, target *manifest) (*manifest, error) {
	if err := dir.Mkdir(buildDir, 0o700); err != nil {
		return nil, err
	}
	build, err := dir.OpenDir(buildDir)
	if err != nil {
		return nil, err
	}
	defer build.Close()
	// What is made below must not inherit an ACL of the state folder.
	for _, acl := range []string{"system.posix_acl_default", "system.posix_acl_access"} {
		if err := build.RemoveXattr(".", acl); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EOPNOTSUPP) {
			return nil, err
		}
	}
	sup := &supply{sb: s, dir: dir, tree: tree, now: map[string]string{}}
	for i := range now.entries {
		if e := &now.entries[i]; e.hash != "" && !e.damaged {
			sup.now[e.hash] = e.path
		}
	}
	if real, err := s.strat.openRoot(s.rec.Resource.Path); err == nil {
		sup.real = real
		defer real.Close()
	}
	if g := s.rec.Resource.Git; g != nil {
		if pack, err := s.strat.openRoot(filepath.Join(g.CommonDir, "objects")); err == nil {
			sup.pack = pack
			defer pack.Close()
		}
	}
	sup.base = sync.OnceValues(func() (*fsop.Dir, error) { return s.again(ctx, dir) })
	defer func() {
		if s.strat.fill != nil {
			_ = dropAgain(dir) // else the next one does
		}
	}()
	b := &builder{sb: s, build: build, target: target, sup: sup}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	if len(sup.stale) > 0 {
		slices.Sort(sup.stale)
		return nil, fault.New(fault.Stale, "", "the contents of %d files at creation are gone: they were never checkpointed, and %s has changed since", len(sup.stale), s.rec.Resource.Path).
			WithPaths(sup.stale...).WithHint("the sandbox is as it was; put these files of the real tree back, or discard the plan")
	}
	known := map[string]string{}
	for i := range target.entries {
		known[target.entries[i].path] = target.entries[i].hash
	}
	sc := scanner{strat: s.strat, dir: dir, tree: build, known: known, force: true, fresh: true}
	fresh, unreadable, err := sc.scan(ctx)
	if err = errors.Join(err, sc.close()); err != nil {
		return nil, err
	}
	if len(unreadable) > 0 || !fresh.same(target) {
		return nil, fault.New(fault.Unavailable, "", "the state cannot be rebuilt exactly here").WithPaths(differences(fresh, target)...).
			WithHint("owners, attributes or special files of these paths cannot be made by this user")
	}
	return fresh, nil
}

// differences names up to ten paths on which two manifests disagree.
func differences(a, b *manifest) []string {
	var out []string
	for i := range b.entries {
		e := &b.entries[i]
		if o := a.find(e.path); (o == nil || !o.same(e)) && len(out) < 10 {
			out = append(out, e.path)
		}
	}
	for i := range a.entries {
		if b.find(a.entries[i].path) == nil && len(out) < 10 {
			out = append(out, a.entries[i].path)
		}
	}
	return out
}

// builder makes the tree of a manifest in an empty directory.
type builder struct {
	sb     *Sandbox
	build  *fsop.Dir
	target *manifest
	sup    *supply
}

func (b *builder) run(ctx context.Context) error {
	var files []*entry
	first := map[uint64]*entry{} // inode → the name that is made first
	var links [][2]string
	for i := range b.target.entries { // sorted: parents come before children
		e := &b.target.entries[i]
		if e.path == "." {
			continue
		}
		if e.shared {
			if f := first[e.ino]; f != nil {
				links = append(links, [2]string{f.path, e.path})
				continue
			}
			first[e.ino] = e
		}
		if e.kind == fsop.KindFile {
			files = append(files, e)
			continue
		}
		if err := b.node(e); err != nil {
			return fmt.Errorf("make %q: %w", e.path, err)
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(b.sb.strat.workers)
	for _, e := range files {
		g.Go(func() error {
			if err := b.file(gctx, e); err != nil {
				return fmt.Errorf("make %q: %w", e.path, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if len(b.sup.stale) > 0 {
		return nil // the caller says so
	}
	for _, l := range links {
		if err := b.build.Link(l[0], b.build, l[1]); err != nil {
			return err
		}
	}
	for i := len(b.target.entries) - 1; i >= 0; i-- { // children before parents
		if e := &b.target.entries[i]; e.kind == fsop.KindDir {
			if err := b.finish(e); err != nil {
				return fmt.Errorf("make %q: %w", e.path, err)
			}
		}
	}
	return nil
}

// node makes everything but files.
func (b *builder) node(e *entry) error {
	var err error
	switch e.kind {
	case fsop.KindDir:
		return b.build.Mkdir(e.path, 0o700) // its own mode comes last
	case fsop.KindSymlink:
		err = b.build.Symlink(e.link, e.path)
	case fsop.KindFIFO:
		err = b.build.Mknod(e.path, unix.S_IFIFO|e.mode, 0)
	case fsop.KindSocket:
		err = b.build.Mknod(e.path, unix.S_IFSOCK|e.mode, 0)
	case fsop.KindCharDev:
		err = b.build.Mknod(e.path, unix.S_IFCHR|e.mode, unix.Mkdev(uint32(e.rdev>>32), uint32(e.rdev)))
	case fsop.KindBlockDev:
		err = b.build.Mknod(e.path, unix.S_IFBLK|e.mode, unix.Mkdev(uint32(e.rdev>>32), uint32(e.rdev)))
	case fsop.KindFile, fsop.KindUnknown:
		return fault.New(fault.Internal, "", "a %s here", e.kind)
	}
	if err != nil {
		return err
	}
	return b.finish(e)
}

func (b *builder) file(ctx context.Context, e *entry) error {
	if e.size == 0 {
		f, err := b.build.Create(e.path, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		return b.finish(e)
	}
	if ok, err := b.sup.put(ctx, e, b.build, e.path); err != nil || !ok {
		return err // not ok: nothing will come of this tree, but all such paths are named
	}
	return b.finish(e)
}

// finish gives an entry its owner, mode, attributes and time, in the order in
// which none of them undoes another.
func (b *builder) finish(e *entry) error {
	info, err := b.build.Stat(e.path)
	if err != nil {
		return err
	}
	if info.UID != e.uid || info.GID != e.gid {
		uid, gid := -1, -1
		if info.UID != e.uid {
			uid = int(e.uid)
		}
		if info.GID != e.gid {
			gid = int(e.gid)
		}
		if err := b.build.Chown(e.path, uid, gid); err != nil {
			return err
		}
	}
	if e.kind != fsop.KindSymlink {
		if len(e.xattrs) > 0 { // user.* needs write permission
			if err := b.build.Chmod(e.path, e.mode|0o600); err != nil {
				return err
			}
			for name, v := range e.xattrs {
				if err := b.build.SetXattr(e.path, name, []byte(v)); err != nil {
					return err
				}
			}
		}
		if err := b.build.Chmod(e.path, e.mode); err != nil {
			return err
		}
	}
	return b.build.Chtimes(e.path, time.Unix(0, e.mtime))
}
