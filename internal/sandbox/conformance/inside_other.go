//go:build !linux

package conformance

import (
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Inside runs a shell script in a sandbox; only Linux has the namespaces for it.
func Inside(engine.Entrance, string) (string, error) {
	return "", fault.New(fault.Unsupported, "enter sandbox", "only Linux has the namespaces for it")
}
