//go:build !linux

package confine

// Reexec recognises nothing: only Linux has confinement that starts the program again.
func Reexec(argv []string) (handled bool, exitCode int) { return false, 0 }
