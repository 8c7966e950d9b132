package tree

import (
	"fmt"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// checkObjects asks beforehand for everything a step could be refused for.
// Refusals are kept apart from conflicts: nobody changed anything there.
func (s *survey) checkObjects(inTarget bool) (*conflicts, error) {
	refused := &conflicts{hint: "nothing was changed; run ambit as the owner, or leave the path out with --only"}
	for _, p := range s.paths {
		it := s.items[p]
		n := s.need(it)
		if n == needNothing || s.found.has(p) {
			continue
		}
		if err := s.checkFolder(it, n, refused); err != nil {
			return nil, err
		}
		s.checkObject(it, n, inTarget, refused)
	}
	return refused, nil
}

// checkFolder asks whether the folder that holds the path can be written to.
func (s *survey) checkFolder(it *item, n need, refused *conflicts) error {
	dir, _ := fsop.SplitRel(it.path)
	info, there, err := s.folder(dir)
	switch {
	case fault.Is(err, fault.Denied), err == nil && (!there || info.Kind != fsop.KindDir):
		return nil // made by this apply, or reported already
	case err != nil:
		return err
	}
	if info.Dev() != s.at.Dev() {
		s.found.add(it.path, "it lies on another file system than the resource itself")
		return nil
	}
	if n == needDirModes {
		return nil // its own mode, no entry of the folder
	}
	if info.Immutable {
		refused.add(it.path, "its folder is immutable (chattr)")
		return nil
	}
	if it.now.there && info.Mode&0o1000 != 0 && s.euid != 0 && info.UID != s.euid && it.now.info.UID != s.euid {
		refused.add(it.path, "it belongs to another user in a sticky folder")
	}
	ok, err := s.root.Writable(dir)
	switch {
	case err != nil:
		return err
	case ok:
	case info.UID == s.euid:
		s.wide[dir] = info
	default:
		refused.add(it.path, "its folder is not writable")
	}
	return nil
}

// checkObject asks whether the object itself may be displaced or changed.
func (s *survey) checkObject(it *item, n need, inTarget bool, refused *conflicts) {
	if !it.now.there {
		return
	}
	info := it.now.info
	foreign := s.euid != 0 && info.UID != s.euid
	isFile := it.is() == changeset.File
	switch {
	case info.Immutable:
		refused.add(it.path, "it is immutable (chattr)")
	case n == needDirModes && foreign:
		refused.add(it.path, "it belongs to another user, who alone may change its mode")
	case n == needSwap && foreign:
		refused.add(it.path, "it belongs to another user; replacing it would change its owner")
	case n == needSwap && isFile && info.Nlink > 1 && it.becomes() == changeset.File:
		s.found.add(it.path, fmt.Sprintf("it has %d hard links, which replacing it would split", info.Nlink))
	case inTarget && isFile && info.Nlink > 1:
		s.found.add(it.path, fmt.Sprintf("it has %d hard links, which an undo could not restore from another file system", info.Nlink))
	case inTarget && foreign:
		refused.add(it.path, "it belongs to another user; an undo could not give it back from another file system")
	}
}

// space is what an apply needs of a file system.
type space struct {
	bytes  uint64
	inodes uint64
}

// spare is left free beside what is needed: directories grow, journals fill.
const spare = 1 << 20

// check refuses before anything is written when there is not enough room for
// what: the apply, or its undo.
func (n space) check(d *fsop.Dir, what string) error {
	info, err := d.Statfs()
	if err != nil {
		return err
	}
	smaller := ", or apply a part with --only"
	if what == "undo" {
		smaller = ""
	}
	if n.bytes > 0 && info.FreeBytes < n.bytes+n.bytes/100+spare {
		return fault.New(fault.Unavailable, "prepare", "%s has %d MB free, the %s needs %d MB", d.Name(), info.FreeBytes>>20, what, (n.bytes+spare)>>20+1).
			WithHint("free some space%s", smaller)
	}
	if info.HasInodes && info.FreeInodes < n.inodes+16 {
		return fault.New(fault.Unavailable, "prepare", "%s has %d inodes free, the %s needs %d", d.Name(), info.FreeInodes, what, n.inodes+16).
			WithHint("remove some files%s", smaller)
	}
	return nil
}

// measure adds up what will be staged, and what must be copied out.
func (s *survey) measure() (staged, copied space) {
	for _, it := range s.items {
		n := s.need(it)
		if n == needPlace || n == needSwap || n == needRetype {
			staged.inodes++
			if it.becomes() == changeset.File {
				staged.bytes += uint64(it.result.Size)
			}
		}
		if n == needRemove || n == needSwap || n == needRetype {
			copied.inodes++
			if it.is() == changeset.File {
				copied.bytes += uint64(it.now.info.Size)
			}
		}
	}
	return staged, copied
}
