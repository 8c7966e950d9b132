package overlay

import (
	"errors"
	"strings"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// layerKind says what wrote a layer, and so what may be expected in it.
type layerKind string

const (
	layerDelta   layerKind = "delta"   // written by commands through the overlay, or prepared by Create: hostile
	layerPin     layerKind = "pin"     // contents kept when the real tree moved on
	layerCarry   layerKind = "carry"   // the person's uncommitted work over a frozen base
	layerBase    layerKind = "base"    // a clean checkout of one commit
	layerInclude layerKind = "include" // ignored files copied along
	layerMask    layerKind = "mask"    // hides all of the live tree that is not ignored
	layerLive    layerKind = "live"    // the real tree
)

// layerRef is a layer as the state stores it. Path is absolute.
type layerRef struct {
	Kind layerKind `json:"kind"`
	Path string    `json:"path"`
}

// layer is an open layer.
type layer struct {
	layerRef
	root *fsop.Dir
}

// Extended attributes by which overlayfs marks directories and files. Mounted
// with userxattr it writes and reads only the user ones; an overlay that a
// privileged engine mounted without it leaves the trusted ones in its uppers.
const (
	xattrUserPrefix    = "user.overlay."
	xattrUserOpaque    = "user.overlay.opaque"
	xattrUserWhiteout  = "user.overlay.whiteout"
	xattrUserOrigin    = "user.overlay.origin"
	xattrTrustedOpaque = "trusted.overlay.opaque"
)

// isWhiteout reports whether info is a whiteout of the classic kind: a character
// device 0:0. Nothing else is, whatever it is called (C57).
func isWhiteout(info fsop.Info) bool {
	return info.Kind == fsop.KindCharDev && info.RdevMajor == 0 && info.RdevMinor == 0
}

// hides reports whether the entry of parent at path removes the name from the
// layers below: a device 0:0, or, in a directory marked "x", an empty file that
// carries the whiteout attribute.
func (l *layer) hides(parent, path string, info fsop.Info) (bool, error) {
	if isWhiteout(info) {
		return true, nil
	}
	if info.Kind != fsop.KindFile || info.Size != 0 {
		return false, nil
	}
	if _, err := l.root.GetXattr(path, xattrUserWhiteout); err != nil {
		return false, unmarked(err)
	}
	v, err := l.root.GetXattr(parent, xattrUserOpaque)
	if err != nil {
		return false, unmarked(err)
	}
	return string(v) == "x", nil
}

// opaque reports whether the directory at path replaces those of the layers
// below instead of being merged with them.
func (l *layer) opaque(path string) (bool, error) {
	names := []string{xattrUserOpaque}
	if l.Kind == layerDelta {
		names = append(names, xattrTrustedOpaque)
	}
	for _, name := range names {
		v, err := l.root.GetXattr(path, name)
		if err == nil && string(v) == "y" {
			return true, nil
		}
		if err := unmarked(err); err != nil {
			return false, err
		}
	}
	return false, nil
}

// copiedUp reports whether the kernel copied the entry from a lower layer.
func (l *layer) copiedUp(path string) (bool, error) {
	if l.Kind != layerDelta {
		return false, nil
	}
	_, err := l.root.GetXattr(path, xattrUserOrigin)
	if err == nil {
		return true, nil
	}
	return false, unmarked(err)
}

// unmarked is absent for the reading of marks: an entry whose attributes its
// owner may not read (mode 000) counts as having none, and is listed as
// unreadable by whoever wants its contents.
func unmarked(err error) error {
	if errors.Is(err, syscall.EACCES) {
		return nil
	}
	return absent(err)
}

// absent turns "it is not there (any more)" into nil and keeps every other
// error. A component that stopped being a directory counts as not there: layers
// under live commands, and the person's own tree, move while they are read.
func absent(err error) error {
	switch {
	case err == nil, fault.Is(err, fault.NotFound),
		errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP),
		errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EPERM): // EPERM: user.* on links and devices
		return nil
	}
	return err
}

// ownXattrs returns the attributes of an entry that travel with it.
func (l *layer) ownXattrs(path string) (map[string]string, error) {
	names, err := l.root.ListXattr(path)
	if err != nil {
		return nil, unmarked(err)
	}
	var out map[string]string
	for _, name := range names {
		if !strings.HasPrefix(name, "user.") || strings.HasPrefix(name, xattrUserPrefix) {
			continue
		}
		v, err := l.root.GetXattr(path, name)
		if err != nil {
			if unmarked(err) == nil {
				continue
			}
			return nil, err
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = string(v)
	}
	return out, nil
}
