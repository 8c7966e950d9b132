package confine

import (
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/native"
)

// Reexec must be the first thing a program does that uses confinement: it
// recognises the arguments by which the program starts itself again as one of
// the holder's processes, does that process's work and returns its exit code.
// argv is os.Args. For any other program start it returns at once.
func Reexec(argv []string) (handled bool, exitCode int) {
	return holder.Reexec(argv, native.Stages())
}
