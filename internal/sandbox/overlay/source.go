package overlay

import (
	"errors"
	"io"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

// source reads the contents behind a set of changes out of the layers. It is
// safe for concurrent use.
type source struct {
	from, to *view
	stale    map[string]bool   // paths whose state before is gone
	renamed  map[string]string // new path → old path
	stamp    stamp
}

// Open returns a regular file's contents on one side; the caller closes it. A
// path of the real tree that has changed since the sandbox was made has no
// contents before: code stale.
func (s *source) Open(sd changeset.Side, path string) (io.ReadCloser, error) {
	v := s.to
	if sd == changeset.Before {
		v = s.from
		if s.stale[path] {
			return nil, staleFault(path)
		}
	}
	n, err := v.lookup(path)
	if err != nil {
		return nil, fault.Wrap("", "read contents", err)
	}
	if n == nil && sd == changeset.Before && s.renamed[path] != "" {
		return s.Open(sd, s.renamed[path])
	}
	if n == nil {
		return nil, fault.New(fault.NotFound, "read contents", "%q is not there on this side", path)
	}
	l := v.layers[n.at]
	f, info, err := l.root.Open(path)
	if err != nil {
		return nil, fault.Wrap("", "read contents", err)
	}
	if sd == changeset.Before && l.Kind == layerLive && s.stamp.after(info) {
		return nil, errors.Join(staleFault(path), f.Close())
	}
	return f, nil
}

func staleFault(path string) error {
	return fault.New(fault.Stale, "read contents", "%q changed in the real tree after the sandbox was made", path).
		WithHint("what it was before is not known any more; compare the sandbox's version with the present file")
}

// Close lets go of the layers. Reading after it fails.
func (s *source) Close() error { return errors.Join(s.from.close(), s.to.close()) }
