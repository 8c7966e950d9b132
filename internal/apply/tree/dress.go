package tree

import (
	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

// dress gives a staged file or folder owner, attributes, ACL and, last, its mode.
func (s *stager) dress(it *item, st *step, heir heir, mode uint32) error {
	if err := s.own(it, st, heir); err != nil {
		return err
	}
	if it.source == fromPresent { // a user may not set attributes on a read-only file
		if err := s.slots.Chmod(st.Slot, 0o600); err != nil {
			return err
		}
	}
	for k, v := range it.result.Xattrs {
		if err := s.slots.SetXattr(st.Slot, k, []byte(v)); err != nil {
			return fault.Wrap("", "keep attribute "+k+" of "+changeset.Quote(it.path), err)
		}
	}
	if err := s.acl(it, st, heir); err != nil {
		return err
	}
	return s.slots.Chmod(st.Slot, mode)
}

// acl keeps the ACL of a file that is replaced, and gives new entries the one
// their folder hands down. Chmod then puts the mode into it, as for the original.
func (s *stager) acl(it *item, st *step, heir heir) error {
	access := heir.acl
	if it.is() == changeset.File && it.becomes() == changeset.File {
		v, err := optional(s.root.GetXattr(it.path, aclAccess))
		if err != nil {
			return err
		}
		access = v
	}
	if len(access) == 0 {
		return nil
	}
	if err := s.slots.SetXattr(st.Slot, aclAccess, access); err != nil {
		return fault.Wrap("", "keep the ACL of "+changeset.Quote(it.path), err)
	}
	if it.becomes() == changeset.Dir {
		return s.slots.SetXattr(st.Slot, aclDefault, access)
	}
	return nil
}

// optional is an attribute that need not be there, on a file system that need not
// have such attributes.
func optional(v []byte, err error) ([]byte, error) {
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unsupported) {
		return nil, nil
	}
	return v, err
}

// own gives a replacement the owner of what it replaces, and a new entry the
// group of its set-group-id folder.
func (s *stager) own(it *item, st *step, heir heir) error {
	made, err := s.slots.Stat(st.Slot)
	if err != nil {
		return err
	}
	uid, gid := made.UID, made.GID
	switch {
	case it.now.there && it.is() != changeset.Dir && it.becomes() != changeset.Dir:
		uid, gid = it.now.info.UID, it.now.info.GID
	case heir.gid >= 0:
		gid = uint32(heir.gid)
	}
	if uid == made.UID && gid == made.GID {
		return nil
	}
	err = s.slots.Chown(st.Slot, int(uid), int(gid))
	switch {
	case fault.Is(err, fault.Denied) && !it.now.there: // a group that only the folder could have given
		return nil
	case fault.Is(err, fault.Denied):
		return fault.New(fault.Denied, "prepare", "%s belongs to %d:%d, which its replacement cannot", changeset.Quote(it.path), uid, gid).
			WithPaths(it.path).WithHint("run ambit as its owner, or leave the path out with --only").WithCause(err)
	}
	return err
}
