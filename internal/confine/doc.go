// Package confine runs commands so that they can do no more than they were given:
// the ladder of confinements behind engine.Confiner.
//
// The parts, each a package of its own:
//
//	native         namespaces, a new root, Landlock, a system call filter
//	landlock       the same without namespaces, on the host's own root
//	none           nothing; only on request
//	holder         the processes of a live plan, and the client's side of a command
//	guard          process trees without namespaces
//	view           what of the host shows, as data
//	domain         Landlock rules
//	syscallfilter  system call filters
//	privilege      taking capabilities away
//	probe          the proof from inside
//
// Contract: All lists the rungs, strongest first. A program that uses any of them
// calls Reexec before anything else, since confinement starts the program's own
// binary again for its processes.
//
// Limits: Linux. Memory, processor time and disk are not bounded by any rung yet.
package confine
