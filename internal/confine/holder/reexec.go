//go:build linux

package holder

// Reexec does the work of the holder's process that argv names, if it names one.
func Reexec(argv []string, st Stages) (handled bool, exitCode int) {
	if len(argv) < 2 {
		return false, 0
	}
	switch argv[1] {
	case ArgOuter:
		return true, OuterMain(st)
	case ArgInner:
		if len(argv) != 3 {
			return true, 2
		}
		return true, InnerMain(st, argv[2])
	case ArgEntry:
		if len(argv) != 5 {
			return true, 2
		}
		return true, EntryMain(st, argv[3], argv[4], false)
	}
	return false, 0
}

// ReexecAlone does the work of a guard process, an entry process without a
// holder, if argv names it by arg.
func ReexecAlone(argv []string, arg string, st Stages) (handled bool, exitCode int) {
	if len(argv) != 2 || argv[1] != arg {
		return false, 0
	}
	return true, EntryMain(st, "0", "", true)
}
