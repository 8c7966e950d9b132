// Package tree carries a changeset into the files of a real directory or git
// checkout, all of it or nothing: the engine's target for "worktree".
//
// # How
//
// Prepare reads every path of the target, holds what the plan did against what
// lies there now, and lists everything that stands in the way in one conflict.
// Then it stages: new contents are written into slots and fsynced, on the
// target's own file system, so that everything that can fail has failed before
// the decision. Commit only renames. A replacement is an exchange of two names
// (RENAME_EXCHANGE): what it displaced is looked at, and if it is not what
// Prepare saw the exchange is reversed. A deletion moves the object into a slot
// and looks at it there; a creation needs a free name. So the displaced objects
// themselves are the pre-images, with their inodes, times, owners and
// attributes, and Undo puts them back.
//
// No progress is written down. Each step has a slot and a path; what lies in
// them says whether it is done, in this process or in one that died at any
// instruction. Objects are known again by inode, kind, size, times and mode, and
// where those disagree by their contents.
//
// Slots lie in TargetRequest.Dir where a rename reaches the target from there,
// else in a folder .ambit-<plan>-<random> inside the target, which is recorded
// before it is made and gone when Commit, Undo or Abandon return; pre-images are
// then kept as copies in TargetRequest.Dir.
//
// # What it protects against
//
// Links anywhere in the target, folders that are moved while an apply runs,
// paths that leave the resource, edits between review and apply, files that
// appear in folders that go; hard links that would be split; a full disk. It
// never deletes an object that it has not recognised as its own or as a recorded
// pre-image: a foreign one that cannot be put back is kept under "rescue" and
// named in the error.
//
// # Limits
//
// A replaced file is a new inode: its birth time is new, and who holds the old
// one open goes on with the old one. For microseconds a name can show the staged
// content before a reversal. Owner, group, mode, user attributes and POSIX ACLs
// are kept; file capabilities only with AllowSetuid. Times of folders that stay
// are not restored by Undo. Special files are never carried. Paths on other
// mounts or btrfs subvolumes inside the resource are refused. A folder that the
// owner may not even read stays a conflict. Linux only.
package tree
