//go:build !linux

package conformance

import (
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

func onlyLinux() error {
	return fault.New(fault.Unsupported, "enter sandbox", "only Linux has the namespaces for it")
}

// Inside runs a shell script in a sandbox; on this system it cannot.
func Inside(engine.Entrance, string) (string, error) { return "", onlyLinux() }

// Apply makes modifications in a sandbox; on this system it cannot.
func Apply(engine.Entrance, []Op) error { return onlyLinux() }

// Snapshot reads everything in a sandbox; on this system it cannot.
func Snapshot(engine.Entrance, bool) (Tree, error) { return nil, onlyLinux() }

// ReadTree is Snapshot of a directory on the host; on this system it cannot.
func ReadTree(string, bool) (Tree, error) { return nil, onlyLinux() }

func enterAndWork() error { return onlyLinux() }

func again(string, any, []byte, []string) (string, error) { return "", onlyLinux() }

func suicide() {}
