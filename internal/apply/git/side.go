package git

import (
	"context"
	"errors"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// kinds of sides.
const (
	absent  = ""
	file    = "file"
	symlink = "symlink"
	other   = "other" // a directory or special file: never what a path is to be
)

// side is one state of one path in a checkout.
type side struct {
	Kind string `json:"kind,omitempty"`
	Mode uint32 `json:"mode,omitempty"` // files only
	Size int64  `json:"size,omitempty"`
	Sum  string `json:"sum,omitempty"` // SHA-256 of a file's contents
	Link []byte `json:"link,omitempty"`
}

func (s side) equal(o side) bool {
	return s.Kind == o.Kind && s.Mode == o.Mode && s.Size == o.Size && s.Sum == o.Sum && string(s.Link) == string(o.Link)
}

// look observes a path. A path below something that is no directory is absent:
// what stands in the way is a path of its own.
func look(ctx context.Context, dir *fsop.Dir, path string) (side, error) {
	info, err := dir.Stat(path)
	switch {
	case fault.Is(err, fault.NotFound), blocked(err):
		return side{}, nil
	case err != nil:
		return side{}, err
	}
	switch info.Kind {
	case fsop.KindSymlink:
		target, err := dir.Readlink(path)
		return side{Kind: symlink, Link: []byte(target)}, err
	case fsop.KindFile:
		sum, size, err := fsop.HashFile(ctx, dir, path)
		return side{Kind: file, Mode: info.Mode, Size: size, Sum: sum}, err
	default:
		return side{Kind: other}, nil
	}
}

// blocked reports whether a lookup ended at something that is no directory.
func blocked(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}
