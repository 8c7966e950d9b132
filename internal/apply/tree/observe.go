package tree

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// sight is what was seen at a name. The zero value is an absent one.
type sight struct {
	there  bool
	info   fsop.Info
	link   string
	hash   string            // of files, with full
	xattrs map[string][]byte // those a changeset may carry, with full
	full   bool
}

// looks is how often a name is looked at again that changes under our eyes.
const looks = 8

// glance looks at a name: kind, mode, size, times, link text; no contents.
func glance(d *fsop.Dir, rel string) (sight, error) {
	for try := 0; ; try++ {
		info, err := d.Stat(rel)
		switch {
		case absent(err):
			return sight{}, nil
		case err != nil:
			return sight{}, err
		case info.Kind != fsop.KindSymlink:
			return sight{there: true, info: info}, nil
		}
		text, err := d.Readlink(rel)
		if err == nil {
			return sight{there: true, info: info, link: text}, nil
		}
		if try == looks {
			return sight{}, err
		}
	}
}

// study looks at a name with contents and attributes, and sees to it that all of
// it belongs to one state of one object: the change time before and after agree.
func study(ctx context.Context, d *fsop.Dir, rel string) (sight, error) {
	for range looks {
		s, err := glance(d, rel)
		if err != nil || !s.there {
			return s, err
		}
		err = s.read(ctx, d, rel)
		if ctx.Err() != nil {
			return sight{}, context.Cause(ctx)
		}
		again, aerr := glance(d, rel)
		switch {
		case aerr != nil:
			return sight{}, aerr
		case !s.unmoved(again): // it changed meanwhile; an error above may come of that
			continue
		case err != nil:
			return sight{}, err
		}
		return s, nil
	}
	return sight{}, fault.New(fault.Conflict, "read", "%s/%s changes all the time", d.Name(), changeset.Quote(rel)).
		WithHint("stop what writes there and try again")
}

func (s *sight) read(ctx context.Context, d *fsop.Dir, rel string) (err error) {
	if s.info.Kind == fsop.KindFile {
		var size int64
		if s.hash, size, err = fsop.HashFile(ctx, d, rel); err != nil {
			return err
		}
		if size != s.info.Size {
			return fault.New(fault.Conflict, "read", "the size changed meanwhile")
		}
	}
	if s.info.Kind == fsop.KindFile || s.info.Kind == fsop.KindDir {
		if s.xattrs, err = readXattrs(d, rel); err != nil {
			return err
		}
	}
	s.full = true
	return nil
}

// unmoved reports whether two looks saw one object in one state.
func (s sight) unmoved(o sight) bool {
	return s.there == o.there && s.info.Identity() == o.info.Identity() && s.info.Ctime.Equal(o.info.Ctime) &&
		s.info.Size == o.info.Size && s.info.Mode == o.info.Mode && s.link == o.link
}

// sameObject reports whether o is the object s, whatever name it has now: a
// rename changes the change time, so that is left out.
func (s sight) sameObject(o sight) bool {
	if !s.there || !o.there || s.info.Kind != o.info.Kind || s.info.Ino != o.info.Ino || s.link != o.link {
		return false
	}
	return s.info.Kind == fsop.KindDir || s.info.Size == o.info.Size && s.info.Mtime.Equal(o.info.Mtime) && s.info.Mode == o.info.Mode
}

// entryKind translates; "" for what no changeset carries.
func entryKind(k fsop.Kind) changeset.Kind {
	switch k {
	case fsop.KindFile:
		return changeset.File
	case fsop.KindDir:
		return changeset.Dir
	case fsop.KindSymlink:
		return changeset.Symlink
	case fsop.KindUnknown, fsop.KindFIFO, fsop.KindSocket, fsop.KindCharDev, fsop.KindBlockDev:
	}
	return ""
}

// entry is the sight in a changeset's terms; nil when absent.
func (s sight) entry() *changeset.Entry {
	if !s.there {
		return nil
	}
	e := &changeset.Entry{Kind: entryKind(s.info.Kind), Mode: s.info.Mode}
	switch e.Kind {
	case changeset.File:
		e.Size, e.Hash = s.info.Size, s.hash
	case changeset.Symlink:
		e.Link, e.Mode = s.link, 0
	case changeset.Dir:
	}
	for k, v := range s.xattrs {
		if e.Xattrs == nil {
			e.Xattrs = map[string]string{}
		}
		e.Xattrs[k] = string(v)
	}
	return e
}

const capability = "security.capability"

// carried says which extended attributes a changeset may carry. overlayfs keeps
// its own book in user.overlay.
func carried(name string) bool {
	return strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "user.overlay.") || name == capability
}

func readXattrs(d *fsop.Dir, rel string) (map[string][]byte, error) {
	names, err := d.ListXattr(rel)
	if err != nil {
		return nil, err
	}
	var out map[string][]byte
	for _, n := range names {
		if !carried(n) {
			continue
		}
		v, err := d.GetXattr(rel, n)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string][]byte{}
		}
		out[n] = v
	}
	return out, nil
}

// absent reports whether a lookup failed because there is nothing of that name,
// or because what should be a folder on the way is a file.
func absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, errNotDir)
}
