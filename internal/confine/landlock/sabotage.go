//go:build linux

package landlock

import (
	"slices"

	"github.com/ambit-run/ambit/internal/confine/domain"
)

// weakness switches protections off, so that tests can see the proof notice. It
// is set by this package's tests and by nothing else.
type weakness struct {
	paths  func(*domain.Paths) // changes what can be reached
	stages []string            // protections of the guard process, by the names below
}

// Protections that the guard process can leave out.
const (
	weakRules   = "rules"   // no Landlock rules
	weakCalls   = "calls"   // no system call filter
	weakCaps    = "caps"    // capabilities stay
	weakNetwork = "network" // sockets as with the host's network
	weakFiles   = "files"   // a descriptor leaks into the command
	weakAll     = "all"     // none at all, not even no_new_privs
)

func (r rules) weakened(w string) bool { return slices.Contains(r.Sabotage, w) }
