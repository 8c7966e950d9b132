package copytree

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// openUp makes readable, until close, what its mode hides from its own owner:
// an exact state holds it, too. The modes are written down first, so that a
// crash between does not change the tree. Root reads everything as it is.
func (s *scanner) openUp(ctx context.Context) error {
	if !s.force || s.strat.root {
		return nil
	}
	s.opened, s.modes = map[string]uint32{}, map[uint64]uint32{}
	for {
		fresh, err := s.findShut(ctx)
		if err != nil || len(fresh) == 0 {
			return err
		}
		for path, info := range fresh {
			s.opened[path], s.modes[info.Ino] = info.Mode, info.Mode
		}
		if !s.fresh {
			if err := fsop.WriteFileAtomic(s.dir, openedFile, encodeModes(s.opened), 0o600); err != nil {
				return err
			}
		}
		for path, info := range fresh {
			need := uint32(0o400)
			if info.Kind == fsop.KindDir {
				need = 0o700
			}
			if err := s.tree.Chmod(path, info.Mode|need); err != nil {
				return err
			}
		}
	}
}

// findShut lists what this user owns and has no right to read, as far as the
// walk gets: what lies in a shut directory is found once that is open.
func (s *scanner) findShut(ctx context.Context) (map[string]fsop.Info, error) {
	shut := map[string]fsop.Info{}
	opts := fsop.WalkOptions{OnError: func(_ string, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil // another owner's: the scan says so
		}
		return err
	}}
	err := s.tree.Walk(ctx, ".", opts, func(path string, info fsop.Info) error {
		_, known := s.modes[info.Ino]
		switch {
		case known || info.UID != s.strat.uid:
		case info.Kind == fsop.KindDir && info.Mode&0o500 != 0o500:
			shut[path] = info
			return fs.SkipDir
		case info.Kind == fsop.KindFile && info.Mode&0o400 == 0:
			shut[path] = info
		}
		return nil
	})
	return shut, err
}

// close puts the modes back that openUp took.
func (s *scanner) close() error {
	if len(s.opened) == 0 {
		return nil
	}
	opened := s.opened
	s.opened = nil
	if err := putBack(s.tree, opened); err != nil || s.fresh {
		return err
	}
	return s.dir.RemoveAll(openedFile)
}

// putBack gives entries their modes, deepest first. Where it goes on after a
// crash some are shut already, so all are opened before.
func putBack(tree *fsop.Dir, modes map[string]uint32) error {
	paths := slices.Sorted(maps.Keys(modes))
	for _, path := range paths {
		if err := tree.Chmod(path, modes[path]|0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, path := range slices.Backward(paths) {
		if err := tree.Chmod(path, modes[path]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func encodeModes(modes map[string]uint32) []byte {
	var w writer
	w.uint(uint64(len(modes)))
	for _, path := range slices.Sorted(maps.Keys(modes)) {
		w.str(path)
		w.uint(uint64(modes[path]))
	}
	return w.b
}

func decodeModes(b []byte) (map[string]uint32, error) {
	r := reader{b: b}
	modes := map[string]uint32{}
	for range r.count() {
		path := r.str()
		modes[path] = uint32(r.uint())
	}
	if r.bad {
		return nil, fault.New(fault.Internal, "", "the list of modes to put back is damaged")
	}
	return modes, nil
}

// settle puts right what a crash left: an exchange in two steps that was cut off
// between them (the state that was being replaced wins: the other was not
// confirmed), and modes that were taken for reading.
func settle(dir *fsop.Dir) error {
	_, err := dir.Stat(treeDir)
	if errors.Is(err, fs.ErrNotExist) {
		err = dir.Rename(oldDir, dir, treeDir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // destroyed, or never finished
		}
	}
	if err != nil {
		return err
	}
	raw, err := fsop.ReadFile(dir, openedFile, manifestLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	modes, err := decodeModes(raw)
	if err != nil {
		return err
	}
	tree, err := dir.OpenDir(treeDir)
	if err != nil {
		return err
	}
	if err := errors.Join(putBack(tree, modes), tree.Close()); err != nil {
		return err
	}
	return dir.RemoveAll(openedFile)
}
