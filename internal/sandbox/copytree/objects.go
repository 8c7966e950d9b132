package copytree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// objectPath is where the contents with a hash lie, below the sandbox's folder.
func objectPath(raw string) string {
	h := hexOf(raw)
	return objectsDir + "/" + h[:2] + "/" + h[2:]
}

// hasObject reports whether contents are stored. That they still are what their
// name says is checked when they are used.
func hasObject(dir *fsop.Dir, raw string) (bool, error) {
	_, err := dir.Stat(objectPath(raw))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

const gitObjects = gitName + "/objects"

// bare says how contents are stored: no attributes, nothing that gives power.
func bare() fsop.CopyOptions {
	return fsop.CopyOptions{Hash: true, DropSetuid: true, SkipXattr: func(string) bool { return true }}
}

// storeContents makes sure that the contents of every wanted file of a manifest
// of the present tree are stored. What an earlier attempt stored is used.
func (s *Strategy) storeContents(ctx context.Context, dir, tree *fsop.Dir, m *manifest, wanted func(*entry) bool) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.workers)
	seen := map[string]bool{}
	for i := range m.entries {
		e := &m.entries[i]
		if e.kind != fsop.KindFile || e.size == 0 || seen[e.hash] || !wanted(e) {
			continue
		}
		if e.hash == "" {
			return errors.Join(fault.New(fault.Denied, "", "%q cannot be read", e.path), g.Wait())
		}
		seen[e.hash] = true
		has, err := hasObject(dir, e.hash)
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		if has {
			continue
		}
		g.Go(func() error { return storeOne(ctx, dir, tree, e) })
	}
	return g.Wait()
}

// storeOne copies one file into the store under a temporary name, and under its
// own once its hash is what was expected.
func storeOne(ctx context.Context, dir, tree *fsop.Dir, e *entry) (err error) {
	temp := objectsDir + "/" + fsop.TempName()
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("store %q: %w", e.path, err), dir.RemoveAll(temp))
		}
	}()
	res, err := fsop.CopyFile(ctx, tree, e.path, dir, temp, bare())
	if err != nil {
		return err
	}
	if rawOf(res.SHA256) != e.hash {
		return fault.New(fault.Conflict, "", "it changed while it was stored").
			WithHint("something still writes into the sandbox; end it and repeat")
	}
	if err := dir.Chmod(temp, 0o400); err != nil {
		return err
	}
	to := objectPath(e.hash)
	parent, _ := fsop.SplitRel(to)
	if err := dir.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	return dir.Replace(temp, dir, to)
}

// supply finds the contents of files for a new tree.
type supply struct {
	sb   *Sandbox
	dir  *fsop.Dir
	tree *fsop.Dir
	now  map[string]string // raw hash → a path of the present tree that has it
	real *fsop.Dir         // the resource; nil when it cannot be opened
	// pack is the real object directory; nil when it cannot be opened.
	pack *fsop.Dir

	mu    sync.Mutex
	stale []string // paths whose contents are nowhere to be had

	// base is a second making of a Filler's base, for what is not to be had elsewhere.
	base func() (*fsop.Dir, error)
}

// place is somewhere contents may be.
type place struct {
	from *fsop.Dir
	rel  string
	opts fsop.CopyOptions
}

// put writes the contents of e to path in build, from the store, else from the
// present tree, else from the real resource, else from a second making of a
// Filler's base, and verifies them. It is false, and the path noted, when they are
// nowhere to be had.
func (s *supply) put(ctx context.Context, e *entry, build *fsop.Dir, path string) (bool, error) {
	places := []place{{s.dir, objectPath(e.hash), bare()}}
	if p, ok := s.now[e.hash]; ok {
		places = append(places, place{s.tree, p, bare()})
	}
	o := bare()
	o.NoReflink = s.sb.strat.noReflink()
	if rel, ok := strings.CutPrefix(e.path, gitObjects+"/"); ok && s.pack != nil {
		places = append(places, place{s.pack, rel, o})
	} else if s.real != nil {
		places = append(places, place{s.real, e.path, o})
	}
	for _, p := range places {
		if ok, err := p.put(ctx, e, build, path); ok || err != nil {
			return ok, err
		}
	}
	if s.base != nil && !underGit(e.path) {
		base, err := s.base()
		if err != nil {
			return false, err
		}
		if base != nil {
			if ok, err := (place{base, e.path, o}).put(ctx, e, build, path); ok || err != nil {
				return ok, err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = append(s.stale, e.path)
	return false, nil
}

// put copies the contents of e from one place, if it has them.
func (p place) put(ctx context.Context, e *entry, build *fsop.Dir, path string) (bool, error) {
	p.opts.Replace = true
	res, err := fsop.CopyFile(ctx, p.from, p.rel, build, path, p.opts)
	if err == nil && rawOf(res.SHA256) == e.hash {
		return true, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return false, cause
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission),
		fault.Is(err, fault.Conflict), fault.Is(err, fault.Denied):
		return false, nil // not to be had here, or something else by now
	}
	return false, err
}
