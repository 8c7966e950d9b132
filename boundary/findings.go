package boundary

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
)

// op is what was being done, in errors.
const op = "declare boundary"

// maxArg is how long one argument of a program may be, in bytes: MAX_ARG_STRLEN of
// Linux without the NUL that ends it.
const maxArg = 128<<10 - 1

// maxFindings bounds what is said about one spec.
const maxFindings = 50

// findings collects what is wrong with a spec.
type findings struct{ list []fault.Diagnostic }

func (f *findings) add(hint, format string, args ...any) {
	if len(f.list) < maxFindings {
		f.list = append(f.list, fault.Diagnostic{
			Severity: fault.SeverityError, Code: fault.Invalid, Summary: fmt.Sprintf(format, args...), Hint: hint,
		})
	}
}

// text refuses what cannot be an argument of a program or has no hash. It returns
// whether the text is good.
func (f *findings) text(what, s string, limit int) bool {
	switch {
	case strings.ContainsRune(s, 0):
		f.add("no program can be given a NUL byte", "%s holds a NUL byte", what)
	case !utf8.ValidString(s):
		f.add("write it in UTF-8", "%s is not UTF-8", what)
	case len(s) > limit:
		f.add("make it shorter", "%s is %d bytes long; the limit is %d", what, len(s), limit)
	default:
		return true
	}
	return false
}

// err returns the findings as one error: nil for none, the finding itself for one.
func (f *findings) err() error {
	switch len(f.list) {
	case 0:
		return nil
	case 1:
		return &fault.Error{Code: fault.Invalid, Op: op, Message: f.list[0].Summary, Hint: f.list[0].Hint}
	}
	e := fault.New(fault.Invalid, op, "%d things are wrong with the spec; the first: %s", len(f.list), f.list[0].Summary)
	e.Diagnostics = f.list
	return e
}
