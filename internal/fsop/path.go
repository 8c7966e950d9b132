package fsop

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// CheckRel says whether rel is a path that a Dir accepts: relative,
// '/'-separated, no empty, "." or ".." component, no NUL; "." alone is the
// directory itself. The error has code invalid.
func CheckRel(rel string) error {
	if rel == "." {
		return nil
	}
	if rel == "" {
		return fault.New(fault.Invalid, "look up path", "the path is empty")
	}
	if strings.IndexByte(rel, 0) >= 0 {
		return fault.New(fault.Invalid, "look up path", "%s holds a NUL byte", strconv.Quote(rel))
	}
	for rest := rel; ; {
		comp, tail, more := strings.Cut(rest, "/")
		switch comp {
		case "":
			return fault.New(fault.Invalid, "look up path", "%s is absolute or has an empty component", strconv.Quote(rel))
		case ".", "..":
			return fault.New(fault.Invalid, "look up path", "%s has a %q component", strconv.Quote(rel), comp)
		}
		if !more {
			return nil
		}
		rest = tail
	}
}

// Join appends name to the relative directory dir; "." is the empty prefix.
func Join(dir, name string) string {
	if dir == "." || dir == "" {
		return name
	}
	if name == "." {
		return dir
	}
	return dir + "/" + name
}

// SplitRel splits a relative path into its directory ("." for none) and its last component.
func SplitRel(rel string) (dir, base string) {
	i := strings.LastIndexByte(rel, '/')
	if i < 0 {
		return ".", rel
	}
	return rel[:i], rel[i+1:]
}

// show spells a path for a message: as it is when plain, quoted when a name
// could disturb a terminal or a log line.
func show(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < 0x20 || c == 0x7f || c >= 0x80 {
			return strconv.Quote(name)
		}
	}
	return name
}

func notARoot(abs string) error {
	return fault.New(fault.Invalid, "open root", "%s is not an absolute path", show(fmt.Sprintf("%.200s", abs)))
}
