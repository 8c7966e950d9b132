package cli

import (
	"strings"
	"testing"
	"unicode"

	"github.com/ambit-run/ambit/fault"
)

func TestDiagnosticsPointAtTheirPlace(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200) + "HERE" + strings.Repeat("y", 200)
	for _, tt := range []struct {
		name, source string
		d            fault.Diagnostic
		want         string
	}{
		{
			"column", "- [ ] T1 one (depends on T9)",
			fault.Diagnostic{Severity: fault.SeverityError, File: "t.md", Line: 3, Column: 26, Summary: "T9 is nowhere", Hint: "name a task"},
			"t.md:3:26: error: T9 is nowhere\n    3 | - [ ] T1 one (depends on T9)\n      |                          ^\n  hint: name a task\n",
		},
		{
			"tab and wide text before the column", "\t日本 x",
			fault.Diagnostic{Severity: fault.SeverityWarning, File: "t.md", Line: 1, Column: 9, Summary: "x"},
			"t.md:1:9: warning: x\n    1 |     日本 x\n      |         " + " ^\n",
		},
		{
			"whole line", "text",
			fault.Diagnostic{Severity: fault.SeverityNote, File: "t.md", Line: 1, Summary: "x", Detail: "because"},
			"t.md:1: note: x\n    1 | text\n        because\n",
		},
		{
			"no source", "",
			fault.Diagnostic{Severity: fault.SeverityError, File: "t.md", Summary: "x"},
			"t.md: error: x\n",
		},
		{
			"column beyond the line", "ab",
			fault.Diagnostic{Severity: fault.SeverityError, File: "t.md", Line: 1, Column: 9, Summary: "x"},
			"t.md:1:9: error: x\n    1 | ab\n",
		},
		{
			"hostile", "a\x1b[2Jb",
			fault.Diagnostic{Severity: fault.SeverityError, File: "t\x1b.md", Line: 1, Column: 6, Summary: "x\x07"},
			"t\\x1b.md:1:6: error: x\\x07\n    1 | a\\x1b[2Jb\n      |         ^\n",
		},
	} {
		var b strings.Builder
		writeDiagnostic(&b, style{}, tt.d, tt.source)
		if b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, b.String(), tt.want)
		}
	}
	text, caret := excerpt(long, 201)
	if textWidth(text) > excerptWidth+1 || !strings.HasPrefix(string([]rune(text)[caret:]), "HERE") {
		t.Errorf("a long line is cut to %q, caret at %d", text, caret)
	}
}

func TestSourceLine(t *testing.T) {
	t.Parallel()
	d := &deps{sources: map[string][]byte{"t.md": []byte("one\r\ntwo\nthree")}}
	for line, want := range map[int]string{0: "", 1: "one", 2: "two", 3: "three", 4: ""} {
		if got := d.sourceLine("t.md", line); got != want {
			t.Errorf("line %d = %q, want %q", line, got, want)
		}
	}
	if got := d.sourceLine("/no/such/file", 1); got != "" {
		t.Errorf("got %q", got)
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add("- [ ] T1 one (depends on T9)", 26)
	f.Add("\t日本 \x1b[2J", 5)
	f.Fuzz(func(t *testing.T, line string, column int) {
		text, caret := excerpt(line, column)
		if strings.ContainsFunc(text, unicode.IsControl) {
			t.Fatalf("excerpt(%q, %d) = %q", line, column, text)
		}
		if caret > textWidth(text) || textWidth(text) > excerptWidth+1 {
			t.Fatalf("excerpt(%q, %d) = %q, %d: %d columns", line, column, text, caret, textWidth(text))
		}
	})
}
