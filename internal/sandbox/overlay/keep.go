package overlay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Keep stores what the real tree holds at paths in a layer of this sandbox, so that it stays on its base when ambit itself is about
// to change them: an apply of one plan calls it on every other live sandbox over
// the same tree, before it commits. Later Changes compare with what was kept. A
// path that the person changed or took away since the sandbox was made is left
// alone: it stays drift. Paths kept before are not kept again. It may be called while
// commands are live; what they have open stays what it was. For a frozen lower
// there is nothing to do.
func (s *Sandbox) Keep(ctx context.Context, paths []engine.KeepPath) error {
	if s.st.Lower != engine.LowerLive {
		return nil
	}
	if err := s.keep(ctx, paths); err != nil {
		return fault.Wrap("", "keep the base of "+s.st.Plan, err)
	}
	return nil
}

func (s *Sandbox) keep(ctx context.Context, paths []engine.KeepPath) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	live, err := s.strat.openRoot(s.st.Resource.Path)
	if err != nil {
		return err
	}
	defer live.Close()
	pin, err := s.strat.openRoot(s.bottomPath(layerPin))
	if err != nil {
		return err
	}
	defer pin.Close()
	paths = slices.SortedFunc(slices.Values(paths), func(a, b engine.KeepPath) int { return strings.Compare(a.Path, b.Path) }) // directories before what is in them
	k := &keeper{s: s, live: live, pin: pin, shut: map[string]uint32{}}
	for _, p := range paths {
		if err := k.keep(ctx, p); err != nil {
			return errors.Join(fmt.Errorf("%q: %w", p.Path, err), k.close())
		}
	}
	return k.close()
}

// keeper fills the layer. Directories that their owner may not write are opened
// while it works and get their mode at the end.
type keeper struct {
	s         *Sandbox
	live, pin *fsop.Dir
	shut      map[string]uint32 // directory → the mode it is to have
}

// owner are the bits without which an owner cannot make entries in a directory.
const owner = 0o300

func (k *keeper) mkdir(path string, mode uint32) error {
	if mode&owner != owner {
		k.shut[path] = mode
	}
	return k.pin.Mkdir(path, mode|owner)
}

// enter makes a directory that was kept before writable for now.
func (k *keeper) enter(path string, mode uint32) error {
	if _, done := k.shut[path]; done || mode&owner == owner {
		return nil
	}
	k.shut[path] = mode
	return k.pin.Chmod(path, mode|owner)
}

func (k *keeper) close() error {
	var errs []error
	for path, mode := range k.shut {
		errs = append(errs, k.pin.Chmod(path, mode))
	}
	return errors.Join(errs...)
}

func (k *keeper) keep(ctx context.Context, path engine.KeepPath) error {
	s, live, pin := k.s, k.live, k.pin
	at := ""
	for rest := path.Path; rest != ""; {
		var name string
		name, rest = cut(rest)
		at = fsop.Join(at, name)
		if info, err := pin.Stat(at); err == nil {
			if info.Kind == fsop.KindDir && rest != "" {
				if err := k.enter(at, info.Mode); err != nil {
					return err
				}
				continue
			}
			return nil // kept before, or hidden with a directory above
		}
		info, err := live.Stat(at)
		switch {
		case err != nil && absent(err) != nil:
			return err
		case err != nil && (!path.Absent || rest != ""):
			return nil // somebody took it away, or its folder: that is no base
		case err != nil:
			return whiteout(pin, at) // nothing there, nor below
		case info.Kind == fsop.KindDir:
			if err := k.mkdir(at, info.Mode); err != nil {
				return err
			}
		case rest != "" || s.st.Stamp.after(info):
			return nil // something else took the directory's place, or the person changed it
		case info.Kind == fsop.KindSymlink:
			text, err := live.Readlink(at)
			if err != nil {
				return err
			}
			return pin.Symlink(text, at)
		case info.Kind == fsop.KindFile:
			// Made under another name and renamed: commands may be looking.
			temp := fsop.TempName()
			if _, err := fsop.CopyFile(ctx, live, at, pin, temp, fsop.CopyOptions{}); err != nil {
				return err
			}
			return pin.Rename(temp, pin, at)
		default:
			return nil
		}
	}
	return nil
}

// covered reports whether a path of the real tree is covered by what was kept.
func covered(pin *layer, path string) bool {
	if pin == nil {
		return false
	}
	at := ""
	for rest := path; rest != ""; {
		var name string
		name, rest = cut(rest)
		at = fsop.Join(at, name)
		info, err := pin.root.Stat(at)
		if err != nil {
			return false
		}
		if info.Kind != fsop.KindDir {
			return true
		}
	}
	return true
}
