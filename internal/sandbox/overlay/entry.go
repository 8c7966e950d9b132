package overlay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/internal/fsop"
)

// binaryWindow is how much of a file is searched for a NUL byte to call it
// binary; git looks at as much.
const binaryWindow = 8000

// side is what one side of a candidate turned out to be.
type side struct {
	entry  *changeset.Entry
	binary bool
}

// read describes one node of a view, contents hashed. A node that is nil gives
// an empty side.
func (v *view) read(path string, n *node) (side, error) {
	if n == nil {
		return side{}, nil
	}
	l := v.layers[n.at]
	e := &changeset.Entry{Mode: n.info.Mode}
	var err error
	if n.info.Kind != fsop.KindSymlink {
		if e.Xattrs, err = l.ownXattrs(path); err != nil {
			return side{}, err
		}
	}
	switch n.info.Kind {
	case fsop.KindDir:
		e.Kind = changeset.Dir
	case fsop.KindSymlink:
		e.Kind = changeset.Symlink
		e.Link, err = l.root.Readlink(path)
		return side{entry: e}, err
	case fsop.KindFile:
		e.Kind = changeset.File
		f, info, err := l.root.Open(path)
		if err != nil {
			return side{}, err
		}
		defer f.Close()
		e.Mode = info.Mode
		s := side{entry: e}
		if e.Hash, e.Size, s.binary, err = digest(f); err != nil {
			return side{}, fmt.Errorf("read %q: %w", path, err)
		}
		return s, nil
	default:
		return side{}, fmt.Errorf("read %q: %s was not expected here", path, n.info.Kind)
	}
	return side{entry: e}, nil
}

// digestBuffers are shared by the workers; a read of 128 KiB is past the point
// where larger ones gain anything.
var digestBuffers = sync.Pool{New: func() any { b := make([]byte, 128<<10); return &b }}

// digest returns the SHA-256 in hex, the size, and whether the contents are binary.
func digest(r io.Reader) (hash string, size int64, binary bool, err error) {
	bp, _ := digestBuffers.Get().(*[]byte)
	defer digestBuffers.Put(bp)
	h := sha256.New()
	for {
		n, err := r.Read(*bp)
		b := (*bp)[:n]
		if head := binaryWindow - size; head > 0 && !binary {
			binary = bytes.IndexByte(b[:min(int64(n), head)], 0) >= 0
		}
		h.Write(b)
		size += int64(n)
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), size, binary, nil
		}
		if err != nil {
			return "", 0, false, err
		}
	}
}

// readResult is a candidate with both sides read, or the reason why it cannot be.
type readResult struct {
	before, after side
	skip          string
}

// readAll reads both sides of every candidate with a few workers; the files are
// small and many, so opening them is what takes the time.
func (d *differ) readAll(ctx context.Context, cands []candidate, workers int) ([]readResult, error) {
	out := make([]readResult, len(cands))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(workers, len(cands)) {
		wg.Go(func() {
			for i := range next {
				if err := d.readOne(cands[i], &out[i]); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
feed:
	for i := range cands {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return out, context.Cause(ctx)
}

func (d *differ) readOne(c candidate, r *readResult) error {
	var err error
	if r.before, err = d.from.read(c.path, c.before); err == nil {
		r.after, err = d.to.read(c.path, c.after)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		r.skip = "unreadable: permission denied"
	case absent(err) == nil && err != nil:
		r.skip = "changed while it was read"
	default:
		return err
	}
	return nil
}
