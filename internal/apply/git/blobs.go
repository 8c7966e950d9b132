package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func modeOf(e *changeset.Entry) string {
	switch {
	case e.Kind == changeset.Symlink:
		return gitx.ModeSymlink
	case e.Mode&0o100 != 0:
		return gitx.ModeExec
	}
	return gitx.ModeFile
}

// hashes returns the SHA-256 of the present blob of each edited path.
func (b *builder) hashes(ctx context.Context, edits []edit) (map[string]string, error) {
	var paths, ids []string
	for _, e := range edits {
		if now, ok := b.have[e.path]; ok && now.Mode != gitx.ModeGitlink {
			paths, ids = append(paths, e.path), append(ids, now.ID)
		}
	}
	sums := map[string]string{}
	err := b.view.CatFiles(ctx, ids, func(i int, o gitx.Object) error {
		h := sha256.New()
		if _, err := io.Copy(h, o.R); err != nil {
			return err
		}
		sums[paths[i]] = hex.EncodeToString(h.Sum(nil))
		return nil
	})
	return sums, err
}

// entries writes one side of each edit as a blob, with the conversions that git
// does itself, and returns index entries in order; one without ID for "not there".
func (b *builder) entries(ctx context.Context, edits []edit, side changeset.Side) ([]gitx.IndexEntry, error) {
	b.staged++
	dir := b.file(fmt.Sprintf("work/in-%d", b.staged))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Internal, "stage contents", err)
	}
	list := make([]gitx.IndexEntry, len(edits))
	var raw []string // files to be taken as they stand, and whose entries they are
	var of []int
	for i, e := range edits {
		list[i].Path = e.path
		entry := e.before
		if side == changeset.After {
			entry = e.after
		}
		if entry == nil {
			continue
		}
		list[i].Mode = modeOf(entry)
		name := filepath.Join(dir, fmt.Sprintf("%06d", i))
		if err := b.stage(name, e.path, entry, side); err != nil {
			return nil, err
		}
		if entry.Kind == changeset.Symlink || b.convert[e.path] == nil && !b.plain.ConvertsLines() {
			raw, of = append(raw, name), append(of, i)
			continue
		}
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "stage contents", err)
		}
		list[i].ID, err = b.attributed.HashFile(ctx, e.path, f)
		_ = f.Close() // read only
		if err != nil {
			return nil, err
		}
	}
	ids, err := b.view.HashFiles(ctx, raw)
	if err != nil {
		return nil, err
	}
	for n, i := range of {
		list[i].ID = ids[n]
	}
	return list, nil
}

// stage copies one side's contents into a file of ours and checks that they are
// what the changeset says.
func (b *builder) stage(name, path string, e *changeset.Entry, side changeset.Side) (err error) {
	if e.Kind == changeset.Symlink {
		if err := os.WriteFile(name, []byte(e.Link), 0o600); err != nil {
			return fault.Wrap(fault.Internal, "stage contents", err)
		}
		return nil
	}
	in, err := b.req.Src.Open(side, path)
	if err != nil {
		return fault.Wrap("", "read "+path, err)
	}
	defer in.Close() //nolint:errcheck // read only
	out, err := os.OpenFile(filepath.Clean(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(fault.Internal, "stage contents", err)
	}
	defer func() {
		if closeErr := out.Close(); err == nil && closeErr != nil {
			err = fault.Wrap(fault.Internal, "stage contents", closeErr)
		}
	}()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, h), in); err != nil {
		return fault.Wrap(fault.CodeOf(err), "read "+path, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != e.Hash {
		return fault.New(fault.Stale, "read "+path, "its contents are no longer those of the changeset").WithPaths(path)
	}
	return nil
}

// treeOf writes the present tip's tree with the given entries in place.
func (b *builder) treeOf(ctx context.Context, entries []gitx.IndexEntry) (string, error) {
	b.staged++
	name := b.file(fmt.Sprintf("work/index-%d", b.staged))
	data, err := os.ReadFile(b.index.IndexFile())
	if err != nil {
		return "", fault.Wrap(fault.Internal, "copy index", err)
	}
	if err := os.WriteFile(filepath.Clean(name), data, 0o600); err != nil {
		return "", fault.Wrap(fault.Internal, "copy index", err)
	}
	view := b.index.WithIndex(name)
	entries = slices.Clone(entries)
	if err := view.UpdateIndex(ctx, entries); err != nil {
		return "", err
	}
	return view.WriteTree(ctx)
}
