package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
)

// diagnostics shows findings on stderr, unless the caller wants JSON.
func (d *deps) diagnostics(list []fault.Diagnostic) {
	if d.json {
		return
	}
	st := d.styleFor(d.stderr)
	for _, x := range list {
		writeDiagnostic(d.stderr, st, x, d.sourceLine(x.File, x.Line))
	}
}

// writeDiagnostic renders "file:line:column: severity: summary", the line of the
// source with a caret below the column, the detail and the hint.
func writeDiagnostic(w io.Writer, st style, x fault.Diagnostic, source string) {
	var where strings.Builder
	if x.File != "" {
		where.WriteString(visible(x.File) + ":")
	}
	if x.Line > 0 {
		fmt.Fprintf(&where, "%d:", x.Line)
		if x.Column > 0 {
			fmt.Fprintf(&where, "%d:", x.Column)
		}
	}
	head := where.String()
	if head != "" {
		head = st.bold(head) + " "
	}
	severity := string(x.Severity) + ":"
	switch x.Severity {
	case fault.SeverityError:
		severity = st.red(severity)
	case fault.SeverityWarning:
		severity = st.yellow(severity)
	case fault.SeverityNote:
		severity = st.cyan(severity)
	}
	fmt.Fprintf(w, "%s%s %s\n", head, severity, visible(x.Summary))
	if source != "" {
		text, caret := excerpt(source, x.Column)
		fmt.Fprintf(w, "%5d | %s\n", x.Line, text)
		if caret >= 0 {
			fmt.Fprintf(w, "      | %s%s\n", strings.Repeat(" ", caret), st.green("^"))
		}
	}
	if x.Detail != "" {
		fmt.Fprintf(w, "        %s\n", visible(x.Detail))
	}
	if x.Hint != "" {
		fmt.Fprintf(w, "  %s %s\n", st.dim("hint:"), visible(x.Hint))
	}
}

// excerptWidth bounds the part of a source line that is shown, in columns.
const excerptWidth = 120

// excerpt makes a source line showable and finds the column of the caret in it;
// -1 = no caret. column counts bytes from 1. A long line is cut around the column.
func excerpt(line string, column int) (text string, caret int) {
	shown := func(s string) string { return visible(strings.ReplaceAll(s, "\t", "    ")) }
	if column <= 0 || column > len(line)+1 {
		return fit(shown(line), excerptWidth), -1
	}
	before, after := shown(line[:column-1]), shown(line[column-1:])
	caret = textWidth(before)
	if caret > excerptWidth*2/3 {
		for textWidth(before) > excerptWidth/2 {
			_, n := utf8.DecodeRuneInString(before)
			before = before[n:]
		}
		before = "…" + before
		caret = textWidth(before)
	}
	return before + fit(after, excerptWidth-caret), caret
}

// sourceLimit bounds what is read of a file only to show one of its lines.
const sourceLimit = 1 << 20

// sourceLine returns one line of a file that a diagnostic names; "" = not at hand.
func (d *deps) sourceLine(file string, line int) string {
	if file == "" || line <= 0 {
		return ""
	}
	src, ok := d.sources[file]
	if !ok {
		f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return ""
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return ""
		}
		if src, err = io.ReadAll(io.LimitReader(f, sourceLimit)); err != nil {
			return ""
		}
	}
	for range line - 1 {
		_, rest, found := bytes.Cut(src, []byte("\n"))
		if !found {
			return ""
		}
		src = rest
	}
	text, _, _ := bytes.Cut(src, []byte("\n"))
	return strings.TrimSuffix(string(text), "\r")
}
