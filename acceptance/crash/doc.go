// Package crash kills the real ambit at random moments and looks at what is left.
//
// Contract of the tests: whatever process is killed (the command line, the outer
// holder, its pid 1) and whenever, after `ambit recover` every real resource is
// old or new as a whole, git's own check is clean, and no mount, process, work
// tree, branch or folder exists that no plan owns; the work of finished steps is
// still there. The number of rounds is AMBIT_KILL_ROUNDS.
package crash
