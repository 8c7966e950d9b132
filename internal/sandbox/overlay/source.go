package overlay

import (
	"errors"
	"io"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// source reads the contents behind a set of changes out of the layers. It is
// safe for concurrent use.
type source struct {
	from, to *view
	stale    map[string]bool   // paths whose state before is gone
	renamed  map[string]string // new path → old path
	stamp    stamp
	// untouched are paths whose change time may be the one given here.
	untouched map[string]time.Time
	found     [2]map[string]int // by side: the layer in which a changed file was found
}

// remember notes where the files of candidates lie, so that reading them does not
// ask every layer again.
func (s *source) remember(cands []candidate) {
	for i := range s.found {
		s.found[i] = make(map[string]int, len(cands))
	}
	for _, c := range cands {
		for i, n := range []*node{changeset.Before: c.before, changeset.After: c.after} {
			if n != nil && n.info.Kind == fsop.KindFile {
				s.found[i][c.path] = n.at
			}
		}
	}
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
	if at, ok := s.found[sd][path]; ok {
		// Not there any more, or something else: the layers are asked.
		if f, err := s.read(sd, v.layers[at], path); err == nil || fault.Is(err, fault.Stale) {
			return f, err
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
	return s.read(sd, v.layers[n.at], path)
}

// read opens a file of a layer.
func (s *source) read(sd changeset.Side, l *layer, path string) (io.ReadCloser, error) {
	f, info, err := l.root.Open(path)
	if err != nil {
		return nil, fault.Wrap("", "read contents", err)
	}
	if sd == changeset.Before && l.Kind == layerLive && s.stamp.after(info) && !s.untouched[path].Equal(info.Ctime) {
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
