package ticket

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// maxFindings is how many findings one file gets; the rest is counted. A hostile
// file could otherwise have one per byte.
const maxFindings = 2000

// maxLineRanges is how many ranges a list of lines holds before it is cut.
const maxLineRanges = 1000

// report collects the findings of one file.
type report struct {
	file    string
	found   []fault.Diagnostic
	dropped map[fault.Severity]int
	errors  int  // how many are listed
	lenient bool // the literal grammar: only limits are errors
}

// finding is what a person is told, apart from where.
type finding struct {
	code                  fault.Code
	summary, detail, hint string
	file                  string // if not the report's own
}

// full reports that no more notes are listed, so that callers on the way to the
// limit need not make their text.
func (r *report) full() bool { return len(r.found) >= maxFindings }

func (r *report) add(sev fault.Severity, line, column int, f finding) {
	// Errors are always kept up to their own limit: they decide what happens.
	if r.full() && (sev != fault.SeverityError || len(r.found) >= 2*maxFindings) {
		if r.dropped == nil {
			r.dropped = map[fault.Severity]int{}
		}
		r.dropped[sev]++
		return
	}
	if sev == fault.SeverityError {
		r.errors++
	}
	if f.file == "" {
		f.file = r.file
	}
	r.found = append(r.found, fault.Diagnostic{
		Severity: sev, Code: f.code, File: f.file, Line: line, Column: column,
		Summary: f.summary, Detail: f.detail, Hint: f.hint,
	})
}

// err reports what the ticket cannot be planned with.
func (r *report) err(line, column int, f finding) {
	if r.lenient {
		f.code = ""
		r.warn(line, column, f)
		return
	}
	r.limit(line, column, f)
}

// limit reports what no grammar plans with.
func (r *report) limit(line, column int, f finding) {
	if f.code == "" {
		f.code = fault.Invalid
	}
	r.add(fault.SeverityError, line, column, f)
}

func (r *report) warn(line, column int, f finding) { r.add(fault.SeverityWarning, line, column, f) }
func (r *report) note(line, column int, f finding) { r.add(fault.SeverityNote, line, column, f) }

// done returns the findings in the order of the file.
func (r *report) done() []fault.Diagnostic {
	slices.SortStableFunc(r.found, func(a, b fault.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	for _, sev := range []fault.Severity{fault.SeverityError, fault.SeverityWarning, fault.SeverityNote} {
		if n := r.dropped[sev]; n > 0 {
			r.found = append(r.found, fault.Diagnostic{
				Severity: sev, File: r.file,
				Summary: fmt.Sprintf("%s not listed", count(n, "more "+string(sev))),
				Detail:  fmt.Sprintf("at most %d findings are listed for one file", maxFindings),
			})
		}
	}
	return r.found
}

// count renders "1 box", "2 boxes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "x") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// lineList renders ascending line numbers as "line 3" or "lines 3-5, 9".
func lineList(lines []int) string {
	var b strings.Builder
	ranges := 0
	for i := 0; i < len(lines); {
		j := i
		for j+1 < len(lines) && lines[j+1] <= lines[j]+1 {
			j++
		}
		if ranges == maxLineRanges {
			fmt.Fprintf(&b, " and %d more", len(lines)-i)
			break
		}
		if ranges > 0 {
			b.WriteString(", ")
		}
		if lines[j] > lines[i] {
			fmt.Fprintf(&b, "%d-%d", lines[i], lines[j])
		} else {
			fmt.Fprint(&b, lines[i])
		}
		ranges++
		i = j + 1
	}
	if len(lines) == 1 {
		return "line " + b.String()
	}
	return "lines " + b.String()
}

// clip shortens user text that is quoted in a finding.
func clip(s string) string {
	const limit = 60      // characters; enough to recognise the place
	if len(s) > 8*limit { // do not go through megabytes for them
		s = cutText(s, 8*limit)
	}
	s = strings.Join(strings.Fields(s), " ")
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// AsError returns the error diagnostics among ds as one *fault.Error, or nil if
// there is none: code conflict if one of them is a conflict, unsupported if one is
// that, else invalid. It carries all of ds.
func AsError(op string, ds []fault.Diagnostic) error {
	var first *fault.Diagnostic
	code, n := fault.Invalid, 0
	for i := range ds {
		if ds[i].Severity != fault.SeverityError {
			continue
		}
		if n++; first == nil {
			first = &ds[i]
		}
		if c := ds[i].Code; c == fault.Conflict || c == fault.Unsupported && code != fault.Conflict {
			if code != c {
				code, first = c, &ds[i]
			}
		}
	}
	if first == nil {
		return nil
	}
	msg := strings.Replace(first.String(), ": error: ", ": ", 1)
	msg = strings.TrimPrefix(msg, "error: ")
	if n > 1 {
		msg += fmt.Sprintf(" (and %s)", count(n-1, "more error"))
	}
	e := fault.New(code, op, "%s", msg)
	e.Hint, e.Diagnostics = first.Hint, ds
	return e
}

// lineSet holds ascending lines and the column of what is meant in the first.
type lineSet struct {
	lines  []int
	column int
}

func (s *lineSet) add(line, column int) {
	if len(s.lines) == 0 {
		s.column = column
	}
	s.lines = append(s.lines, line)
}
