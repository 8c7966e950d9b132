//go:build !linux

package cli

import "github.com/ambit-run/ambit/boundary"

// thisMachine is unknown: where docker runs in a virtual machine, its limits are not
// those of this one.
func thisMachine() boundary.Machine { return boundary.Machine{} }
