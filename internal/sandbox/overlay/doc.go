// Package overlay isolates a directory or a git checkout with a kernel overlay
// in an unprivileged user namespace: what commands write lands in layers of the
// sandbox's own folder, the real tree is only ever read.
//
// Contract: the package makes and reads layers; it never mounts them for
// commands. Enter returns the mounts, and whoever confines makes them, each
// upper exactly once at a time. Everything the host does with a layer goes
// through held descriptors (internal/fsop), never through a mount: the merged
// view of a stack of layers is computed here, by the kernel's own rules.
// Creating, restoring and dropping cost nothing that grows with the tree;
// comparing two states costs what changed between them.
//
// A sandbox's folder holds
//
//	sandbox.json                     the whole state, replaced atomically
//	stamp                            a file whose change time is the instant of creation
//	layers/NNNN/upper, work          one layer of the tree (work only while it is the top)
//	layers/NNNN/git-upper, git-work  the same of the common git directory where it is mounted by itself
//	pin                              contents kept for this sandbox while the real tree moves on
//	carry, include, mask, mask.json  frozen lower only: the person's uncommitted work; ignored
//	                                 files brought along; what hides the rest of the live tree
//
// and, shared by all plans, bases/<repository>/<commit>/tree holds a clean
// checkout of each commit that a sandbox stands on.
//
// What it protects against: writes to the real tree or repository by any path;
// layers that are read otherwise than the kernel reads them (whiteouts, opaque
// directories, names that only look like markers); a person's own edit lost
// under a plan that changed the same path (drift); a crash at any point of
// creating, checkpointing and restoring; a state folder inside the tree it
// isolates.
//
// Limits. With a live lower, what the person does shines through; it is found
// again by change times, so a clock that is set back hides it, as does a file
// system whose change times are coarser than the interval (said in a notice). A
// directory of the lower cannot be renamed inside (EXDEV). Hard links to a file
// of the lower part company at the first write. A commit that the real
// repository loses to gc --prune=now, because no ref there holds it any more,
// is lost to the sandbox that stands on it. Linux only.
package overlay
