package git

import (
	"context"
	"errors"
	"syscall"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// side is one state of one path in a checkout. The zero value is "not there".
type side struct {
	Kind changeset.Kind `json:"kind,omitempty"`
	Mode uint32         `json:"mode,omitempty"`
	Size int64          `json:"size,omitempty"`
	Sum  string         `json:"sum,omitempty"`  // SHA-256 of a file's contents
	Link []byte         `json:"link,omitempty"` // bytes, so that JSON keeps what is not UTF-8
}

// special is what a path is that no changeset carries.
const special changeset.Kind = "special"

// alike compares as git does: contents and executable bit.
func (s side) alike(o side) bool {
	return s.Kind == o.Kind && s.Size == o.Size && s.Sum == o.Sum && string(s.Link) == string(o.Link) &&
		(s.Kind != changeset.File || s.Mode&0o100 == o.Mode&0o100)
}

// entry is the side in a changeset; nil when it is not there.
func (s side) entry() *changeset.Entry {
	if s.Kind == "" {
		return nil
	}
	return &changeset.Entry{Kind: s.Kind, Mode: s.Mode, Size: s.Size, Hash: s.Sum, Link: string(s.Link)}
}

// look observes a path. A path below something that is no directory is not
// there: what stands in the way is a path of its own.
func look(ctx context.Context, dir *fsop.Dir, path string) (side, error) {
	info, err := dir.Stat(path)
	switch {
	case fault.Is(err, fault.NotFound), blocked(err):
		return side{}, nil
	case err != nil:
		return side{}, err
	}
	switch info.Kind {
	case fsop.KindDir:
		return side{Kind: changeset.Dir, Mode: info.Mode}, nil
	case fsop.KindSymlink:
		target, err := dir.Readlink(path)
		return side{Kind: changeset.Symlink, Link: []byte(target)}, err
	case fsop.KindFile:
		sum, size, err := fsop.HashFile(ctx, dir, path)
		return side{Kind: changeset.File, Mode: info.Mode, Size: size, Sum: sum}, err
	default:
		return side{Kind: special}, nil
	}
}

// blocked reports whether a lookup ended at something that is no directory.
func blocked(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}
