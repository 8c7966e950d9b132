// Package fsop is ambit's only way to touch a tree that somebody else may be
// changing: sandboxed trees, and the real resource while an apply runs.
//
// Contract: a Dir holds a directory by descriptor. Every path given to it is
// relative, is looked up beneath that descriptor by openat2 with RESOLVE_BENEATH,
// RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS (and RESOLVE_NO_XDEV when asked
// for), and no path is opened twice by name: an object is opened once as a
// handle (O_PATH), looked at, and used through the handle. Names are created,
// renamed and removed in a parent that is held by descriptor; none of those
// calls follows a link in the last component. Errors are *fault.Error; the
// errno stays reachable with errors.Is.
//
// What it protects against: links, `..`, absolute and magic links, mounts (with
// NoXdev), races that exchange a component between check and use, FIFOs,
// sockets and devices (recognised on the handle, never opened, so nothing hangs
// and no driver is woken), directory trees deeper than the descriptor limit or
// than PATH_MAX, and reading names through a second, unchecked lookup.
//
// Limits. A directory that another process moves out of the root while it is
// held stays the directory that was held; callers who must notice look it up
// again afterwards. Hard links to files outside are ordinary files to the
// kernel: look at Info.Nlink. Making a directory with an exact mode takes two
// calls; somebody with write access to the parent can exchange the directory
// between them and so have the mode put on another directory of theirs. Needs
// Linux 5.8 or later with /proc mounted; a kernel without openat2 is
// fault.Unsupported, never a weaker lookup.
package fsop
