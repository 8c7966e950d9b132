// Package procid names a process so that no other process, now or later, has
// the same name.
//
// Contract: an ID is the process id together with the moment the process
// started (field 22 of /proc/PID/stat, clock ticks since boot), the boot it
// belongs to and the pid namespace that gave the number. Self names the calling
// process; Alive tells whether the named process still runs. Both only read
// /proc.
//
// What it protects against: a process id that was recycled. Whoever holds a
// lease, or is about to be signalled, is compared by all four parts, never by
// its number alone.
//
// Limits: a process of another pid namespace cannot be looked up from here; it
// counts as alive, because the mistake of waiting for a dead holder can be put
// right by a person and that of robbing a live one cannot. Start tokens shift
// between time namespaces; ambit makes none. Linux only; elsewhere both report
// unsupported.
package procid
