//go:build !linux

package procid

import "github.com/ambit-run/ambit/fault"

func unsupported() error {
	return fault.New(fault.Unsupported, "identify process", "processes can be told apart on Linux only")
}

// Self is unsupported on this system.
func Self() (ID, error) { return ID{}, unsupported() }

// Of is unsupported on this system.
func Of(int) (ID, error) { return ID{}, unsupported() }

// Alive is unsupported on this system.
func Alive(ID) (bool, error) { return true, unsupported() }
