//go:build linux

package native

import (
	"slices"

	"github.com/ambit-run/ambit/internal/confine/view"
)

// weakness switches protections off, so that tests can see the proof notice. It
// is set by this package's tests and by nothing else.
type weakness struct {
	layout  func(*view.Layout) // changes what shows
	hostNet bool               // no network namespace
	stages  []string           // protections of the holder's processes, by the names below
}

// Protections that a stage can leave out.
const (
	weakProc     = "proc"     // entries keep the holder's proc
	weakPids     = "pids"     // entries share the holder's pid namespace
	weakCaps     = "caps"     // capabilities stay
	weakSeccomp  = "seccomp"  // no system call filter
	weakLandlock = "landlock" // no Landlock rules
	weakUserns   = "userns"   // nested user namespaces allowed
	weakFiles    = "files"    // a descriptor leaks into the command
	weakLoopback = "loopback" // loopback stays down
)

func (n note) weakened(w string) bool { return slices.Contains(n.Sabotage, w) }
