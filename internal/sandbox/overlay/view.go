package overlay

import (
	"context"
	"errors"
	"sort"

	"github.com/ambit-run/ambit/internal/fsop"
)

// view is the merged tree of a stack of layers, topmost first, as the kernel
// would show it. It holds a descriptor for each layer; safe for concurrent use.
type view struct {
	layers []*layer
}

// node is one path of a view.
type node struct {
	info fsop.Info
	at   int   // the layer whose entry is seen
	dirs []int // of a directory: the layers that are merged in it, topmost first
}

func (n *node) isDir() bool { return n != nil && n.info.Kind == fsop.KindDir }

// openView opens the layers of a stack. The paths are ambit's own or were
// checked by identity; they are opened once.
func openView(refs []layerRef, opts ...fsop.RootOption) (*view, error) {
	v := &view{}
	for _, r := range refs {
		d, err := fsop.OpenRoot(r.Path, opts...)
		if err != nil {
			return nil, errors.Join(err, v.close())
		}
		v.layers = append(v.layers, &layer{layerRef: r, root: d})
	}
	return v, nil
}

func (v *view) close() error {
	var errs []error
	for _, l := range v.layers {
		errs = append(errs, l.root.Close())
	}
	return errors.Join(errs...)
}

// root is the node of the tree itself: every layer takes part in it.
func (v *view) root() (*node, error) {
	n := &node{}
	for i, l := range v.layers {
		if i == 0 {
			info, err := l.root.Stat(".")
			if err != nil {
				return nil, err
			}
			n.info = info
		}
		n.dirs = append(n.dirs, i)
	}
	return n, nil
}

// child looks one name up in a directory; nil means it is not there. path is
// parent's path joined with the name.
func (v *view) child(parentPath string, parent *node, path string) (*node, error) {
	var n *node
	for k, i := range parent.dirs {
		l := v.layers[i]
		info, err := l.root.Stat(path)
		if err != nil {
			if absent(err) == nil {
				continue
			}
			return nil, err
		}
		hidden, err := l.hides(parentPath, path, info)
		if err != nil {
			return nil, err
		}
		if hidden {
			return n, nil
		}
		if info.Kind != fsop.KindDir {
			if n == nil {
				n = &node{info: info, at: i}
			}
			return n, nil
		}
		if n == nil {
			n = &node{info: info, at: i}
		}
		n.dirs = append(n.dirs, i)
		if k == len(parent.dirs)-1 {
			return n, nil // nothing below that it could hide
		}
		op, err := l.opaque(path)
		if err != nil {
			return nil, err
		}
		if op {
			return n, nil
		}
	}
	return n, nil
}

// lookup resolves a path component by component; nil means it is not there.
func (v *view) lookup(path string) (*node, error) {
	n, err := v.root()
	if err != nil || path == "." {
		return n, err
	}
	at := "."
	for rest := path; rest != ""; {
		var name string
		name, rest = cut(rest)
		if !n.isDir() {
			return nil, nil //nolint:nilnil // absence is a result here, not an error
		}
		next := fsop.Join(at, name)
		if n, err = v.child(at, n, next); err != nil || n == nil {
			return nil, err
		}
		at = next
	}
	return n, nil
}

func cut(path string) (first, rest string) {
	for i := 0; i < len(path); i++ {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}

// names lists what the given layers hold in a directory, whiteouts included,
// sorted and without repetition.
func (v *view) names(path string, layers []int, into map[string]bool) error {
	for _, i := range layers {
		entries, err := v.layers[i].root.ReadDir(path)
		if err != nil {
			if absent(err) == nil {
				continue
			}
			return err
		}
		for _, e := range entries {
			into[e.Name] = true
		}
	}
	return nil
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for name := range set {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// readSmall returns the contents of a regular file of the view; nothing for
// anything else, and for one above the limit.
func (v *view) readSmall(path string, limit int64) ([]byte, error) {
	n, err := v.lookup(path)
	if err != nil || n == nil || n.info.Kind != fsop.KindFile || n.info.Size > limit {
		return nil, err
	}
	raw, err := fsop.ReadFile(v.layers[n.at].root, path, limit)
	return raw, absent(err)
}

// walk visits everything below a directory of the view, parents first, sorted.
func (v *view) walk(ctx context.Context, dir string, n *node, fn func(path string, n *node) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	names := map[string]bool{}
	if err := v.names(dir, n.dirs, names); err != nil {
		return err
	}
	for _, name := range sorted(names) {
		p := fsop.Join(dir, name)
		c, err := v.child(dir, n, p)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if err := fn(p, c); err != nil {
			return err
		}
		if c.isDir() {
			if err := v.walk(ctx, p, c, fn); err != nil {
				return err
			}
		}
	}
	return nil
}
