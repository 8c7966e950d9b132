package copytree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// source reads the contents behind a set of changes. It is safe for concurrent use.
type source struct {
	strat     *Strategy
	rec       engine.SandboxRecord
	base      string // commit, for a Filler
	dir, tree *fsop.Dir
	resource  string
	sides     [2]*manifest
	live      [2]bool           // the side is the present tree
	renamed   map[string]string // new path → old path
}

// Open returns a regular file's contents on one side; the caller closes it.
// Contents of the creation that no checkpoint stored are read from the real
// resource if they still are what they were; else code stale.
func (s *source) Open(side changeset.Side, path string) (io.ReadCloser, error) {
	f, err := s.open(side, path)
	if err != nil {
		return nil, fault.Wrap("", "read contents", err)
	}
	return f, nil
}

func (s *source) open(side changeset.Side, path string) (io.ReadCloser, error) {
	if side != changeset.Before && side != changeset.After {
		return nil, fault.New(fault.Invalid, "", "no side %d", side)
	}
	e := s.sides[side].find(path)
	if e == nil && side == changeset.Before && s.renamed[path] != "" {
		e = s.sides[side].find(s.renamed[path])
	}
	if e == nil {
		return nil, fault.New(fault.NotFound, "", "%q is not there on this side", path)
	}
	if e.kind != fsop.KindFile {
		return nil, fault.New(fault.Conflict, "", "%q is a %s, not a file", path, e.kind)
	}
	if s.live[side] {
		f, _, err := s.tree.Open(e.path)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	if e.size == 0 {
		return io.NopCloser(eof{}), nil
	}
	// Each place's contents are hashed before they are handed out: the store may
	// have rotted, the others belong to somebody else.
	for _, p := range []struct {
		from *fsop.Dir
		rel  string
	}{{s.dir, objectPath(e.hash)}, {s.tree, e.path}} {
		if f, err := openVerified(p.from, p.rel, e.hash); f != nil || err != nil {
			return file(f), err
		}
	}
	real, err := s.strat.openRoot(s.resource)
	if err == nil {
		defer real.Close()
		if f, err := openVerified(real, e.path, e.hash); f != nil || err != nil {
			return file(f), err
		}
	}
	if s.strat.fill != nil {
		if data, err := s.strat.fill.Contents(context.Background(), s.rec, s.base, e.path); err == nil {
			// As git stores it, or as core.autocrlf checked it out: the hash tells.
			for _, form := range [][]byte{data, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))} {
				if rawOf(sumOf(form)) == e.hash {
					return io.NopCloser(bytes.NewReader(form)), nil
				}
			}
		}
	}
	return nil, fault.New(fault.Stale, "", "the contents of %q at creation are gone: no checkpoint stored them, and %s has changed since", path, s.resource).
		WithHint("compare the sandbox's version with the present file")
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// file keeps a nil *os.File from becoming a non-nil interface.
func file(f *os.File) io.ReadCloser {
	if f == nil {
		return nil
	}
	return f
}

// openVerified opens a file whose contents have a hash; nil when it has others
// or cannot be opened.
func openVerified(d *fsop.Dir, rel, raw string) (*os.File, error) {
	f, _, err := d.Open(rel)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // not to be had here: the next place is asked
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil || string(h.Sum(nil)) != raw {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close lets go of the sandbox. Reading after it fails.
func (s *source) Close() error { return errors.Join(s.dir.Close(), s.tree.Close()) }

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
