package overlay

import (
	"context"
	"fmt"
	"slices"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

const (
	// squashAt is how many frozen layers the present state may have. Every
	// lookup inside asks each of them.
	squashAt = 30
	// squashMust is where a squash that fails is an error: the kernel takes 500.
	squashMust = 200
)

// squash merges the frozen layers of the present state into one, when they have
// become many. Files are linked, not copied; the old layers stay for the
// checkpoints that name them. A failure leaves the layers as they are, and the
// next checkpoint tries again.
func (s *Sandbox) squash(ctx context.Context, dir *fsop.Dir) error {
	if len(s.st.Layers) <= squashAt {
		return nil
	}
	err := s.squashNow(ctx, dir)
	if err != nil && len(s.st.Layers) < squashMust && context.Cause(ctx) == nil {
		return nil //nolint:nilerr // see above
	}
	return err
}

func (s *Sandbox) squashNow(ctx context.Context, dir *fsop.Dir) error {
	next := s.clone()
	name := layerName(next.Next)
	next.Next++
	if err := s.makeLayer(dir, name, s.st.Layers, false); err != nil {
		return err
	}
	parts := map[string]*volume{partUpper: &s.st.Tree}
	if s.st.Git != nil {
		parts[partGitUpper] = s.st.Git
	}
	for part, v := range parts {
		if err := s.squashPart(ctx, dir, name, part, v); err != nil {
			return fmt.Errorf("squash layers: %w", err)
		}
	}
	old := next.Layers
	next.Layers = []string{name}
	for i := range next.Checkpoints {
		// What names the same state may name it in the shorter way.
		if slices.Equal(next.Checkpoints[i].Layers, old) {
			next.Checkpoints[i].Layers = slices.Clone(next.Layers)
		}
	}
	return s.become(dir, next)
}

func (s *Sandbox) squashPart(ctx context.Context, dir *fsop.Dir, name, part string, v *volume) error {
	var upper []layerRef
	for i := len(s.st.Layers) - 1; i >= 0; i-- {
		upper = append(upper, layerRef{Kind: layerDelta, Path: s.part(s.st.Layers[i], part)})
	}
	top, err := openView(upper, s.strat.rootOptions()...)
	if err != nil {
		return err
	}
	defer func() { _ = top.close() }()
	below, err := openView(v.Bottom, s.strat.rootOptions()...)
	if err != nil {
		return err
	}
	defer func() { _ = below.close() }()
	dst, err := dir.OpenDir(layersDir + "/" + name + "/" + part)
	if err != nil {
		return err
	}
	defer dst.Close()
	ground, err := below.root()
	if err != nil {
		return err
	}
	all := make([]int, len(top.layers))
	for i := range all {
		all[i] = i
	}
	m := merger{ctx: ctx, top: top, below: below, dst: dst, uid: s.strat.uid}
	if err := m.dir(".", all, ground); err != nil {
		return err
	}
	root, err := top.layers[0].root.Stat(".")
	if err != nil {
		return err
	}
	return dst.Chtimes(".", root.Mtime)
}

// merger writes the merged contents of layers as one layer.
type merger struct {
	ctx        context.Context //nolint:containedctx // lives for one merge
	top, below *view
	dst        *fsop.Dir
	uid        uint32
}

// dir merges one directory. ground is the directory of the layers below that it
// will be merged with when mounted; nil when there is none, or when it is hidden.
// Without one, whiteouts must not be written: the kernel would list them.
func (m *merger) dir(path string, layers []int, ground *node) error {
	if err := context.Cause(m.ctx); err != nil {
		return err
	}
	names := map[string]bool{}
	if err := m.top.names(path, layers, names); err != nil {
		return err
	}
	for _, name := range sorted(names) {
		if err := m.name(path, fsop.Join(path, name), layers, ground); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) name(dir, path string, layers []int, ground *node) error {
	var first *fsop.Info
	var dirs []int
	cutOff := false
	for _, i := range layers {
		l := m.top.layers[i]
		info, err := l.root.Stat(path)
		if err != nil {
			if absent(err) == nil {
				continue
			}
			return err
		}
		hidden, err := l.hides(dir, path, info)
		if err != nil {
			return err
		}
		if first == nil && !hidden && info.Kind != fsop.KindDir {
			return l.root.Link(path, m.dst, path)
		}
		if hidden || info.Kind != fsop.KindDir {
			cutOff = true
			break
		}
		if first == nil {
			first = &info
		}
		dirs = append(dirs, i)
		if cutOff, err = l.opaque(path); err != nil {
			return err
		}
		if cutOff {
			break
		}
	}
	var under *node
	if ground.isDir() {
		var err error
		if under, err = m.below.child(dir, ground, path); err != nil {
			return err
		}
	}
	if first == nil {
		if under == nil || !cutOff {
			return nil
		}
		return whiteout(m.dst, path)
	}
	if err := m.mkdir(path, m.top.layers[dirs[0]], *first); err != nil {
		return err
	}
	if !under.isDir() {
		under = nil
	}
	if cutOff {
		if err := m.dst.SetXattr(path, xattrUserOpaque, []byte("y")); err != nil {
			return err
		}
		under = nil
	}
	if err := m.dir(path, dirs, under); err != nil {
		return err
	}
	return m.dst.Chtimes(path, first.Mtime)
}

// mkdir makes a directory like that of the topmost layer.
func (m *merger) mkdir(path string, l *layer, info fsop.Info) error {
	if info.Mode&0o700 != 0o700 && m.uid != 0 {
		// A directory that its owner may not enter cannot be filled afterwards, and
		// cannot be read either: what is in it could not have been merged.
		return fault.New(fault.Unsupported, "", "%q may not be entered by its owner", path)
	}
	err := m.dst.Mkdir(path, info.Mode|0o700)
	if err != nil {
		return err
	}
	attrs, err := l.ownXattrs(path)
	if err != nil {
		return err
	}
	for name, v := range attrs {
		if err := m.dst.SetXattr(path, name, []byte(v)); err != nil {
			return err
		}
	}
	if m.uid == 0 {
		if err := m.dst.Chown(path, int(info.UID), int(info.GID)); err != nil {
			return err
		}
	}
	return m.dst.Chmod(path, info.Mode)
}
