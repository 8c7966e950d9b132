package fault

import (
	"fmt"
	"strings"
)

// Severity grades a Diagnostic.
type Severity string

// Severities, gravest first.
const (
	SeverityError   Severity = "error"   // the input cannot be used as it is
	SeverityWarning Severity = "warning" // used, but probably not as meant
	SeverityNote    Severity = "note"    // how something was understood
)

// Diagnostic is one finding in a user-written file.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	// Code is set on errors: which kind of failure the finding is (Invalid unless
	// the file is fine by itself and, say, contradicts itself: Conflict).
	Code    Code   `json:"code,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // 1-based; 0 = the file as a whole
	Column  int    `json:"column,omitempty"` // 1-based, in bytes; 0 = the line as a whole
	Summary string `json:"summary"`          // what was found, one line
	Detail  string `json:"detail,omitempty"` // what it means
	Hint    string `json:"hint,omitempty"`   // how to write it
}

// String renders "file:line:column: severity: summary", as compilers do.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(d.File)
		b.WriteByte(':')
	}
	if d.Line > 0 {
		fmt.Fprintf(&b, "%d:", d.Line)
		if d.Column > 0 {
			fmt.Fprintf(&b, "%d:", d.Column)
		}
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "%s: %s", d.Severity, d.Summary)
	return b.String()
}

// HasErrors reports whether any diagnostic is an error.
func HasErrors(ds []Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == SeverityError {
			return true
		}
	}
	return false
}
