package confine

import (
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/landlock"
	"github.com/ambit-run/ambit/internal/confine/native"
	"github.com/ambit-run/ambit/internal/confine/none"
	"github.com/ambit-run/ambit/internal/confine/probe"
)

// Reexec must be the first thing a program does that uses confinement: it
// recognises the arguments by which the program starts itself again as one of
// confinement's processes, does that process's work and returns its exit code.
// argv is os.Args. For any other program start it returns at once.
func Reexec(argv []string) (handled bool, exitCode int) {
	if handled, code := native.Reexec(argv); handled {
		return true, code
	}
	if handled, code := holder.ReexecAlone(argv, landlock.ArgGuard, landlock.Stages()); handled {
		return true, code
	}
	if handled, code := holder.ReexecAlone(argv, none.ArgGuard, none.Stages()); handled {
		return true, code
	}
	return probe.Reexec(argv)
}
