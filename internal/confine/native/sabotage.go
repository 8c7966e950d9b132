//go:build linux

package native

import "slices"

// Weaknesses that tests can ask for, one for each protection, to see that the
// proof notices. weaken is set by this package's tests and nothing else.
const (
	weakProc     = "proc"     // entries keep the holder's proc
	weakCaps     = "caps"     // capabilities stay
	weakSeccomp  = "seccomp"  // no system call filter
	weakLandlock = "landlock" // no Landlock rules
	weakUserns   = "userns"   // nested user namespaces allowed
)

func (n note) weakened(w string) bool { return slices.Contains(n.Sabotage, w) }
