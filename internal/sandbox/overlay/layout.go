package overlay

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/internal/fsop"
)

// Folders of a sandbox; see the package comment.
const (
	layersDir  = "layers"
	pinDir     = "pin"
	carryDir   = "carry"
	includeDir = "include"
	maskDir    = "mask"
)

// The parts of one layer.
const (
	partUpper    = "upper"
	partWork     = "work"
	partGitUpper = "git-upper"
	partGitWork  = "git-work"
)

// inside reports whether path is base or lies below it, by components.
func inside(base, path string) bool {
	return path == base || strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}

func layerName(n int) string { return fmt.Sprintf("%04d", n) }

// part is the absolute path of a part of a layer.
func (s *Sandbox) part(layer, part string) string {
	return filepath.Join(s.dirPath, layersDir, layer, part)
}

// refs lists a stack of the tree: the given layers (lowest first) over the
// volume's bottom, as layerRefs, topmost first.
func (s *Sandbox) refs(layers []string, v *volume, part string) []layerRef {
	out := make([]layerRef, 0, len(layers)+len(v.Bottom))
	for i := len(layers) - 1; i >= 0; i-- {
		out = append(out, layerRef{Kind: layerDelta, Path: s.part(layers[i], part)})
	}
	return append(out, v.Bottom...)
}

// view opens the merged tree of a state by name.
func (s *Sandbox) view(name string) (*view, error) {
	layers, err := s.st.stateLayers(name)
	if err != nil {
		return nil, err
	}
	return openView(s.refs(layers, &s.st.Tree, partUpper), s.strat.rootOptions()...)
}

// gitView is the same for the common git directory where it is mounted by itself.
func (s *Sandbox) gitView(name string) (*view, error) {
	layers, err := s.st.stateLayers(name)
	if err != nil {
		return nil, err
	}
	return openView(s.refs(layers, s.st.Git, partGitUpper), s.strat.rootOptions()...)
}

// newLayer makes an empty layer on top of the given states of the volumes: its
// root directories look like the roots that are seen there now, because an
// overlay shows the attributes of its topmost layer's root. It becomes part of
// the sandbox only when the state names it; a leftover of a crash is replaced.
func (s *Sandbox) newLayer(dir *fsop.Dir, name string, below []string) error {
	return s.makeLayer(dir, name, below, true)
}

// makeLayer is newLayer, without work folders for a layer that is never written
// through a mount.
func (s *Sandbox) makeLayer(dir *fsop.Dir, name string, below []string, writable bool) error {
	temp := layersDir + "/." + name
	for _, leftover := range []string{temp, layersDir + "/" + name} {
		if err := dir.RemoveAll(leftover); err != nil {
			return fmt.Errorf("clear layer %s: %w", name, err)
		}
	}
	if err := dir.Mkdir(temp, 0o700); err != nil {
		return err
	}
	make := func(v *volume, upper, work string) error {
		if err := s.rootLike(dir, temp+"/"+upper, s.rootRef(below, v, upper)); err != nil || !writable {
			return err
		}
		return dir.Mkdir(temp+"/"+work, 0o700)
	}
	if err := make(&s.st.Tree, partUpper, partWork); err != nil {
		return fmt.Errorf("make layer %s: %w", name, err)
	}
	if s.st.Git != nil {
		if err := make(s.st.Git, partGitUpper, partGitWork); err != nil {
			return fmt.Errorf("make layer %s: %w", name, err)
		}
	}
	if err := dir.SyncDir(temp); err != nil {
		return err
	}
	if err := dir.Rename(temp, dir, layersDir+"/"+name); err != nil {
		return err
	}
	return dir.SyncDir(layersDir)
}

// rootRef is the layer whose root has the attributes that commands see at the
// root of a stack: the topmost of the sandbox's own, else the person's directory.
func (s *Sandbox) rootRef(layers []string, v *volume, part string) layerRef {
	if len(layers) > 0 {
		return layerRef{Kind: layerDelta, Path: s.part(layers[len(layers)-1], part)}
	}
	return layerRef{Kind: layerLive, Path: v.Real}
}

// rootLike makes an empty directory with the attributes of another one.
func (s *Sandbox) rootLike(dir *fsop.Dir, at string, like layerRef) error {
	top, err := s.strat.openRoot(like.Path)
	if err != nil {
		return err
	}
	defer top.Close()
	info, err := top.Stat(".")
	if err != nil {
		return err
	}
	l := layer{layerRef: like, root: top}
	attrs, err := l.ownXattrs(".")
	if err != nil {
		return err
	}
	if err := dir.Mkdir(at, info.Mode); err != nil {
		return err
	}
	for name, v := range attrs {
		if err := dir.SetXattr(at, name, []byte(v)); err != nil {
			return err
		}
	}
	if s.strat.uid == 0 && (info.UID != 0 || info.GID != 0) {
		if err := dir.Chown(at, int(info.UID), int(info.GID)); err != nil {
			return err
		}
		if err := dir.Chmod(at, info.Mode); err != nil { // chown drops set-id bits
			return err
		}
	}
	return dir.Chtimes(at, info.Mtime)
}
