package changeset

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain/a.go":      "plain/a.go",
		"sp ace":          "sp ace",
		" lead":           `" lead"`,
		"trail /x":        `"trail /x"`,
		"日本/é":            "日本/é",
		"ta\tb":           `"ta\tb"`,
		"new\nline":       `"new\nline"`,
		"quo\"te":         `"quo\"te"`,
		"back\\slash":     `"back\\slash"`,
		"esc\x1b[31m":     `"esc\033[31m"`,
		"\xff\xfe":        `"\377\376"`,
		"del\x7f":         `"del\177"`,
		"c1\u0085":        `"c1\302\205"`,
		"rtl\u202egnp.js": `"rtl\342\200\256gnp.js"`,
		"zero\u200bwidth": `"zero\342\200\213width"`,
		"sep\u2028":       `"sep\342\200\250"`,
		"filler\u3164":    `"filler\343\205\244"`,
		"":                "",
	} {
		if got := Quote(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// harmless reports whether text can neither move nor hide anything on a terminal.
func harmless(text string) bool {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return false
			}
		}
		if r != '\t' && disturbs(r) {
			return false
		}
	}
	return true
}

// unquote reads git's C-style quoting back, by its rules and not by ours.
func unquote(t *testing.T, s string) string {
	t.Helper()
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if k := strings.IndexByte("abtnvfr", s[i]); k >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r"[k])
			continue
		}
		if s[i] >= '0' && s[i] <= '3' {
			b.WriteByte((s[i]-'0')<<6 | (s[i+1]-'0')<<3 | (s[i+2] - '0'))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"a", "\xff", "a\"b\\c\n", "\u202e", "\x1b]0;x\a", " x", "\xed\xa0\x80", "\U000e0041"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := Quote(s)
		if !harmless(q) || strings.ContainsAny(q, "\n\t") {
			t.Errorf("%q stays harmful: %q", s, q)
		}
		if got := unquote(t, q); got != s {
			t.Errorf("%q reads back as %q", s, got)
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a\tb", "\x1b[2J", "\xc2\x9b31m", "a\r", "\u2066x\u2069", "\xff", "日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := Escape(s)
		if !harmless(e) || strings.ContainsAny(e, "\n\r\x1b") {
			t.Errorf("%q stays harmful: %q", s, e)
		}
		if harmless(s) && e != s {
			t.Errorf("%q was harmless and became %q", s, e)
		}
	})
}

// FuzzUnifiedTerminal: whatever two files and a name hold, nothing of it acts on a terminal.
func FuzzUnifiedTerminal(f *testing.F) {
	f.Add("n", "a\n", "b\n", "why")
	f.Add("\x1b]0;t\a", "\x1b[2J\n", "x\r\ny", "\u202e")
	f.Fuzz(func(t *testing.T, name, old, now, why string) {
		if name == "" || old == now {
			return
		}
		s, src := compare(tree{name: file(old)}, tree{name: file(now)})
		s.Resource, s.Root = name, "/"+name
		s.Notices, s.Drift = []string{why}, []string{name}
		s.Skipped = []Skip{{name, why}}
		s.Changes[0].Flags, s.Changes[0].Why = []Flag{FlagSecret, FlagGitControl}, map[Flag]string{FlagSecret: why, FlagGitControl: why}
		var b strings.Builder
		if err := Unified(t.Context(), &b, s, src, DiffOptions{Escape: true, Review: true, Heading: true}); err != nil {
			t.Fatal(err)
		}
		if err := Summary(&b, []*Set{s}, SummaryOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := Stat(&b, s, StatOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if !harmless(l) {
				t.Errorf("acts on a terminal: %q", l)
			}
		}
	})
}

// FuzzUnifiedPatch: git applies what Unified writes, whatever two texts hold.
func FuzzUnifiedPatch(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n")
	f.Add("", "x")
	f.Add("a\r\n", "a\n")
	f.Add("\x00", "\x00\x01")
	f.Fuzz(func(t *testing.T, old, now string) {
		if old == now {
			return
		}
		before, after := tree{"f": file(old)}, tree{"f": file(now)}
		s, src := compare(before, after)
		patch := unified(t, s, src, DiffOptions{BinaryPatch: true})
		dir := t.TempDir()
		before.write(t, dir)
		if err := gitApply(t, dir, []byte(patch)); err != nil {
			t.Fatalf("%v\n%s", err, patch)
		}
		if d := sameTree(readTree(t, dir), after); d != "" {
			t.Error(d)
		}
	})
}
