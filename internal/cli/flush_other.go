//go:build !linux

package cli

import "os"

// flushInput would drop what was typed and not yet read; elsewhere it stays.
func flushInput(*os.File) {}
