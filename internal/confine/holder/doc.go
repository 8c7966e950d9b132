// Package holder keeps the processes of a live plan's confinement: starting,
// finding, entering and ending them.
//
// Three kinds of process, all of them this binary started again:
//
//   - the outer process, in the host's namespaces: it owns the socket, the lease
//     and the idle timer, and is the only parent of
//   - the inner process, pid 1 of the plan's namespaces: it makes the inside once,
//     forks entries and reaps them; it never runs a command;
//   - one entry process for each command, pid 1 of a pid namespace of its own: it
//     seals itself, forks the command and reaps. When it ends the kernel ends all
//     that the command left, and lets the inner process reap it only then; so
//     "the whole tree is gone" is the kernel's word, not a guess.
//
// Who dies takes the others along: the inner process dies with the outer one
// (parent death signal, and the closed socket), an entry with the inner process,
// with its client's connection, and at the client's word.
//
// Contract: Start, Close, Live and Client.Enter are safe to call concurrently and
// from several processes. Run is the client's side of one command, for any way of
// launching an entry process. No layer is mounted by two holders at a time: outer
// and inner process hold the lock "alive" in the holder's folder.
//
// It protects against: clients of another uid (SO_PEERCRED, a folder of mode
// 0700), a recycled pid in the lease (start time, boot id), descriptors that leak
// into commands, malformed frames, output that nobody reads (bounded buffers).
//
// Limits: descriptors of namespaces are not handed out. What a namespace is made
// of comes from Stages; the package itself knows processes and sockets only.
package holder
