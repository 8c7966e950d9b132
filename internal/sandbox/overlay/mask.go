package overlay

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/ambit-run/ambit/internal/fsop"
)

// mask computes what has to be hidden of the live tree, so that only ignored
// files shine through under a frozen base.
//
// Nothing has to be done for a file that the base has too: the base lies above
// and wins, and when a step deletes it, the whiteout in the step's own layer
// hides it in every layer below. So only what the base does not have gets a
// whiteout, and so does each directory of the live tree in which nothing is
// ignored; a directory that holds ignored files is made in the mask and looked
// into. The mask is as large as what surrounds the ignored files, not the tree.
type mask struct {
	live, base *fsop.Dir
	show       map[string]bool // ignored: shines through, with all below
	enter      map[string]bool // directories that hold something ignored
	want       map[string]fsop.Info
	hide       map[string]bool
	seen       map[string]string // what the plan rests on; see maskSeen
	asked      time.Time         // when git was asked for the ignored paths
}

// newMask takes git's list of ignored paths. A directory in it that has further
// entries below is one in which everything happens to be ignored now; what is
// new in it may not be, so it is looked into.
func newMask(live, base *fsop.Dir, ignored []string, asked time.Time) *mask {
	m := &mask{
		live: live, base: base, show: map[string]bool{}, enter: map[string]bool{},
		want: map[string]fsop.Info{}, hide: map[string]bool{}, seen: map[string]string{}, asked: asked,
	}
	for _, p := range ignored {
		p = strings.TrimSuffix(p, "/")
		m.show[p] = true
		for dir, _ := fsop.SplitRel(p); dir != "."; dir, _ = fsop.SplitRel(dir) {
			m.enter[dir] = true
		}
	}
	return m
}

func (m *mask) plan(ctx context.Context, dir string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, p := range []string{dir, fsop.Join(dir, ".gitignore")} {
		m.rest(p) // before it is read: a later change shows
	}
	entries, err := m.live.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil // commands inside may not list it either
		}
		return absent(err)
	}
	for _, e := range entries {
		p := fsop.Join(dir, e.Name)
		if p == ".git" || (m.show[p] && !m.enter[p]) {
			continue
		}
		if e.Kind == fsop.KindDir && m.enter[p] {
			info, err := m.live.Stat(p)
			if err != nil {
				if absent(err) == nil {
					continue
				}
				return err
			}
			m.want[p] = info
			if err := m.plan(ctx, p); err != nil {
				return err
			}
			continue
		}
		info, err := m.base.Stat(p)
		switch {
		case err != nil && absent(err) != nil:
			return err
		case err == nil && info.Kind != fsop.KindDir:
			continue // the base's entry wins
		}
		m.hide[p] = true
	}
	return nil
}

// write brings the mask layer to what was planned, changing only what differs:
// it may lie under a live mount. Whiteouts come before anything is taken away.
func (m *mask) write(ctx context.Context, layer *fsop.Dir) error {
	var stale []string
	have := map[string]bool{}
	err := layer.Walk(ctx, ".", fsop.WalkOptions{}, func(path string, info fsop.Info) error {
		_, dir := m.want[path]
		if (info.Kind == fsop.KindDir && dir) || (isWhiteout(info) && m.hide[path]) {
			have[path] = true
		} else {
			stale = append(stale, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	replace := map[string]bool{} // stale names that are needed as something else
	for _, p := range stale {
		replace[p] = true
	}
	make := func(p string, f func() error) error {
		if have[p] {
			return nil
		}
		if replace[p] {
			if err := layer.RemoveAll(p); err != nil {
				return err
			}
			delete(replace, p)
		}
		return f()
	}
	for _, p := range sorted(keys(m.want)) { // parents sort before what is in them
		if err := make(p, func() error { return layer.Mkdir(p, m.want[p].Mode) }); err != nil {
			return err
		}
	}
	for _, p := range sorted(m.hide) {
		if err := make(p, func() error { return whiteout(layer, p) }); err != nil {
			return err
		}
	}
	for _, p := range stale {
		if replace[p] {
			if err := layer.RemoveAll(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func keys[V any](m map[string]V) map[string]bool {
	out := make(map[string]bool, len(m))
	for k := range m {
		out[k] = true
	}
	return out
}

// maskLayers puts the live tree, masked, under the base.
func (c *creation) maskLayers(ctx context.Context, lower *fsop.Dir, w *work) error {
	st := c.sb.st
	if err := c.dir.Mkdir(maskDir, 0o700); err != nil {
		return err
	}
	st.Tree.Bottom = append(st.Tree.Bottom,
		layerRef{Kind: layerMask, Path: filepath.Join(c.req.Dir, maskDir)},
		layerRef{Kind: layerLive, Path: st.Resource.Path},
	)
	c.sb.maskFresh = true
	return c.sb.writeMask(ctx, c.dir, lower, w.ignored, w.asked)
}

// writeMask computes the mask and writes it.
func (s *Sandbox) writeMask(ctx context.Context, dir, lower *fsop.Dir, ignored []string, asked time.Time) error {
	base, err := s.strat.openRoot(s.bottomPath(layerBase))
	if err != nil {
		return err
	}
	defer base.Close()
	layer, err := dir.OpenDir(maskDir)
	if err != nil {
		return err
	}
	defer layer.Close()
	m := newMask(lower, base, ignored, asked)
	if err := m.plan(ctx, "."); err != nil {
		return err
	}
	if err := m.write(ctx, layer); err != nil {
		return err
	}
	return saveSeen(dir, m.seen)
}

// bottomPath is the path of the bottom layer of a kind; "" when there is none.
func (s *Sandbox) bottomPath(kind layerKind) string {
	for _, r := range s.st.Tree.Bottom {
		if r.Kind == kind {
			return r.Path
		}
	}
	return ""
}
