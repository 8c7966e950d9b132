package cli

import (
	"strings"
	"testing"
	"unicode"
)

func TestCleanOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "ok  \tpkg/foo 0.3s", "ok      pkg/foo 0.3s"},
		{"colours", "\x1b[31mred\x1b[0m", "red"},
		{"window title", "\x1b]0;pwned\x07done", "done"},
		{"title with ST", "\x1b]2;pwned\x1b\\done", "done"},
		{"hyperlink", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"device control", "\x1bP$q\"p\x1b\\x", "x"},
		{"clipboard, unfinished", "a\x1b]52;c;aGk=", "a"},
		{"CSI, unfinished", "a\x1b[12", "a"},
		{"escape at the end", "a\x1b", "a"},
		{"malformed CSI keeps what follows", "\x1b[1\x01x", `\x01x`},
		{"charset", "\x1b(0lqk\x1b(B", "lqk"},
		{"reset", "\x1bcx", "x"},
		{"progress bar", "10%\r50%\r100%\r\n", "100%"},
		{"backspaces", "abc\b\bX", "aX"},
		{"backspace over a wide rune", "aé\bX", "aX"},
		{"backspace at the start", "\bX", "X"},
		{"C1 CSI", "a\u009b31mb", `a\x9b31mb`},
		{"raw C1 byte", "a\x9b31mb", `a\x9b31mb`},
		{"bidi", "a\u202eb", `a\u202eb`},
		{"bell", "a\ab", `a\x07b`},
		{"other scripts stay", "日本 naïve", "日本 naïve"},
	} {
		if got := cleanOutput(tt.in); got != tt.want {
			t.Errorf("%s: cleanOutput(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func FuzzCleanOutput(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\r\b\x9b\u202e")
	f.Add("\x1b]0;t\x07\x1bP\x1b\\")
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanOutput(s)
		for _, r := range got {
			if unicode.IsControl(r) {
				t.Fatalf("cleanOutput(%q) = %q keeps control %q", s, got, r)
			}
		}
		if v := visible(s); strings.ContainsFunc(v, unicode.IsControl) {
			t.Fatalf("visible(%q) = %q", s, v)
		}
	})
}

func TestLineCleanerCutsAndBounds(t *testing.T) {
	t.Parallel()
	var got []string
	l := &lineCleaner{line: func(s string) { got = append(got, s) }}
	for _, chunk := range []string{"a\nb", "c\r\n", "", "\nlast"} {
		if n, err := l.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", chunk, n, err)
		}
	}
	if l.partial() != "last" {
		t.Errorf("partial = %q", l.partial())
	}
	l.flush()
	if want := []string{"a", "bc", "", "last"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("lines %q, want %q", got, want)
	}
	got = nil
	huge := strings.Repeat("x", 3*maxLine+5)
	_, _ = l.Write([]byte(huge))
	if len(l.rest) > maxLine {
		t.Errorf("%d bytes are held", len(l.rest))
	}
	l.flush()
	if strings.Join(got, "") != huge {
		t.Error("a long line lost something")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	x := tail{limit: 3}
	for _, l := range []string{"1", "2", "3", "4", "5"} {
		x.add(l)
	}
	if strings.Join(x.lines, "") != "345" || x.lost != 2 {
		t.Errorf("%v, %d lost", x.lines, x.lost)
	}
}
