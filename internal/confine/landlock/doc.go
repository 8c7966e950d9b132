// Package landlock is the confinement without namespaces, for containers, pods
// and machines that forbid user namespaces: Landlock rules as an allow-list of
// the host's files, a system call filter, no capabilities.
//
// Contract: Confiner implements engine.Confiner. Sandboxes must lie at their own
// paths (engine.Entrance.Path). Commands get a private home and a private
// temporary folder in the plan's folder; everything else is read-only or
// unreadable. With network none every socket but a unix one is refused, and
// connecting is refused altogether where the kernel cannot tell a socket inside
// the sandbox from the person's session bus (Landlock before ABI 9).
//
// It protects contents of the person's files and their network. What it cannot
// enforce is listed by Proof.NotCovered, foremost: mode, owner, times and extended
// attributes of the person's other files, and the original paths, which still
// lead to the real resource (it can be read there where the rules let it, never
// written).
//
// Limits: caches are cold, /dev/shm and new terminals are not available, a tool
// that insists on /tmp fails.
package landlock
