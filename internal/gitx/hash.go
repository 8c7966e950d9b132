package gitx

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's object ids, not a security decision
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// NewBlobHash returns a hash that, fed with exactly size bytes of contents, sums
// to the id of the blob that holds them as they stand.
func NewBlobHash(format string, size int64) hash.Hash {
	var h hash.Hash
	if format == "sha256" {
		h = sha256.New()
	} else {
		h = sha1.New() //nolint:gosec // see the import
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// BlobID returns the id of the blob that holds data as it stands.
func BlobID(format string, data []byte) string {
	h := NewBlobHash(format, int64(len(data)))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// BlobIDOf returns mode and blob id of a file or link below dir, contents taken
// as they stand. Directories and special files have neither and yield "", "".
// Errors: not_found, and what fsop reports; a file that grows or shrinks while it
// is read is identity_changed.
func BlobIDOf(dir *fsop.Dir, rel, format string) (mode, id string, err error) {
	info, err := dir.Stat(rel)
	if err != nil {
		return "", "", err
	}
	switch info.Kind {
	case fsop.KindSymlink:
		target, err := dir.Readlink(rel)
		if err != nil {
			return "", "", err
		}
		return ModeSymlink, BlobID(format, []byte(target)), nil
	case fsop.KindFile:
	default:
		return "", "", nil
	}
	f, info, err := dir.Open(rel)
	if err != nil {
		return "", "", err
	}
	defer f.Close() //nolint:errcheck // read only
	h := NewBlobHash(format, info.Size)
	n, err := io.Copy(h, io.LimitReader(f, info.Size+1))
	if err != nil {
		return "", "", fault.Wrap(fault.Internal, "read "+rel, err)
	}
	if n != info.Size {
		return "", "", fault.New(fault.IdentityChanged, "read "+rel, "the file changed while it was read")
	}
	return fileMode(info.Mode), hex.EncodeToString(h.Sum(nil)), nil
}

// fileMode is what git records of a regular file's permissions.
func fileMode(perm uint32) string {
	if perm&0o100 != 0 {
		return ModeExec
	}
	return ModeFile
}

// reallyChanged returns those of the given stat-dirty paths whose contents are
// not their index entry's.
func (r *Repo) reallyChanged(ctx context.Context, dirty []Diff) ([]string, error) {
	if len(dirty) == 0 {
		return nil, nil
	}
	format, err := r.Format(ctx)
	if err != nil {
		return nil, err
	}
	root, err := fsop.OpenRoot(r.workTree)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // read only
	var changed []string
	for _, d := range dirty {
		if err := context.Cause(ctx); err != nil {
			return nil, fault.Wrap("", "compare work tree", err)
		}
		if d.OldMode != d.NewMode || d.OldMode == ModeGitlink {
			changed = append(changed, d.Path)
			continue
		}
		_, id, err := BlobIDOf(root, d.Path, format)
		var fe *fault.Error
		if errors.As(err, &fe) && (fe.Code == fault.NotFound || fe.Code == fault.IdentityChanged) {
			changed = append(changed, d.Path)
			continue
		}
		if err != nil {
			return nil, err
		}
		if id != d.OldID {
			changed = append(changed, d.Path)
		}
	}
	return changed, nil
}
