// Package native is the confinement by namespaces: the strongest rung, without
// any dependency but the kernel (5.12 or newer with user namespaces).
//
// Contract: Confiner implements engine.Confiner. The inside is made once per
// holder from a view.Layout; every command then runs without capabilities, with
// no_new_privs, under Landlock where the kernel has it, and under a system call
// filter, in a pid namespace of its own.
//
// It protects the host's files (a new root in which everything but sandboxes and
// private folders is read-only or absent), its network (a namespace with only
// loopback, unless the host's was asked for), its processes, sockets, terminal
// and kernel interfaces, also against uid 0 inside.
//
// Limits: a unix socket that somebody binds in a system folder while a command
// runs can be reached by that command (not with Landlock ABI 9). Memory, cpu and disk are not bounded here. With the host's network its
// TCP and UDP services are reachable. Entries of one plan share mounts, /tmp and
// loopback. 32-bit programs and nested user namespaces do not work inside.
package native
