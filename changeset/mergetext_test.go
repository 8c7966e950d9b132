package changeset

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMergeText(t *testing.T) {
	t.Parallel()
	const base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	sub := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(base) }
	cases := []struct{ name, base, ours, theirs, want string }{
		{"nothing", base, base, base, base},
		{"ours only", base, sub("2\n", "two\n"), base, sub("2\n", "two\n")},
		{"theirs only", base, base, sub("2\n", ""), sub("2\n", "")},
		{"far apart", base, sub("2\n", "two\n"), sub("8\n", "eight\n"), sub("2\n", "two\n", "8\n", "eight\n")},
		{"one line between", base, sub("4\n", "four\n"), sub("6\n", "six\n"), sub("4\n", "four\n", "6\n", "six\n")},
		{"neighbours", base, sub("4\n", "four\n"), sub("5\n", "five\n"), "CONFLICT"},
		{"same line", base, sub("4\n", "four\n"), sub("4\n", "FOUR\n"), "CONFLICT"},
		{"same change", base, sub("4\n", "four\n"), sub("4\n", "four\n"), sub("4\n", "four\n")},
		{"same change and another", base, sub("4\n", "four\n", "9\n", ""), sub("4\n", "four\n"), sub("4\n", "four\n", "9\n", "")},
		{"delete against change", base, sub("4\n", ""), sub("4\n", "four\n"), "CONFLICT"},
		{"both insert at one place", base, sub("4\n", "4\na\n"), sub("4\n", "4\nb\n"), "CONFLICT"},
		{"both insert the same", base, sub("4\n", "4\na\n"), sub("4\n", "4\na\n"), sub("4\n", "4\na\n")},
		{"start and end", base, "0\n" + base, base + "10\n", "0\n" + base + "10\n"},
		{"both append", base, base + "a\n", base + "b\n", "CONFLICT"},
		{"everything against something", base, "new\n", sub("5\n", "five\n"), "CONFLICT"},
		{"emptied against change", base, "", sub("5\n", "five\n"), "CONFLICT"},
		{"no final newline is a change of that line", base, strings.TrimSuffix(base, "\n"), sub("1\n", "one\n"), strings.TrimSuffix(sub("1\n", "one\n"), "\n")},
		{"no final newline against its line", base, strings.TrimSuffix(base, "\n"), sub("9\n", "nine\n"), "CONFLICT"},
		{"CRLF stays", "a\r\nb\r\nc\r\nd\r\n", "A\r\nb\r\nc\r\nd\r\n", "a\r\nb\r\nc\r\nD\r\n", "A\r\nb\r\nc\r\nD\r\n"},
		{"bytes that are no UTF-8", "\xff\nb\nc\nd\n", "\xff\nb\nc\n\xfe\n", "\xfd\nb\nc\nd\n", "\xfd\nb\nc\n\xfe\n"},
		{"several against one", base, sub("3\n", "x\n", "5\n", "y\n"), sub("4\n", "z\n"), "CONFLICT"},
	}
	for _, c := range cases {
		for _, swap := range []bool{false, true} {
			a, b := c.ours, c.theirs
			if swap {
				a, b = b, a
			}
			got, ok := MergeText(c.base, a, b)
			if !ok {
				got = "CONFLICT"
			}
			if got != c.want {
				t.Errorf("%s (swapped %v): %q, want %q", c.name, swap, got, c.want)
			}
		}
	}
}

// TestMergeTextOfManyEdits: two sides with a hundred edits each, in turn.
func TestMergeTextOfManyEdits(t *testing.T) {
	t.Parallel()
	var base, ours, theirs, want strings.Builder
	for i := range 1000 {
		l := fmt.Sprintf("line %d\n", i)
		a, b := l, l
		switch i % 10 {
		case 0:
			a = fmt.Sprintf("ours %d\n", i)
		case 5:
			b = fmt.Sprintf("theirs %d\n", i)
		}
		base.WriteString(l)
		ours.WriteString(a)
		theirs.WriteString(b)
		if a != l {
			want.WriteString(a)
		} else {
			want.WriteString(b)
		}
	}
	got, ok := MergeText(base.String(), ours.String(), theirs.String())
	if !ok || got != want.String() {
		t.Errorf("not merged: %v, %d bytes", ok, len(got))
	}
}

func mergeLines() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n", "}\n", "\n", "e\r\n", "\xff\n"}), 0, 14)
}

// edited changes a few lines of a text.
func editedLines(t *rapid.T, lines []string, label string) string {
	out := append([]string(nil), lines...)
	for range rapid.IntRange(0, 3).Draw(t, label+" edits") {
		at := rapid.IntRange(0, len(out)).Draw(t, label+" at")
		drop := rapid.IntRange(0, min(2, len(out)-at)).Draw(t, label+" drop")
		add := rapid.SliceOfN(rapid.SampledFrom([]string{"X\n", "Y\n", "a\n", "}\n"}), 0, 2).Draw(t, label+" add")
		out = append(append(append([]string(nil), out[:at]...), add...), out[at+drop:]...)
	}
	s := strings.Join(out, "")
	if rapid.IntRange(0, 9).Draw(t, label+" newline") == 0 {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

func TestMergeTextLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := mergeLines().Draw(t, "base")
		base := strings.Join(lines, "")
		x, y := editedLines(t, lines, "x"), editedLines(t, lines, "y")
		if got, ok := MergeText(base, x, base); !ok || got != x {
			t.Fatalf("against no change: %q, %v", got, ok)
		}
		if got, ok := MergeText(base, x, x); !ok || got != x {
			t.Fatalf("against the same change: %q, %v", got, ok)
		}
		a, okA := MergeText(base, x, y)
		b, okB := MergeText(base, y, x)
		if okA != okB || a != b {
			t.Fatalf("not symmetric: %q %v, %q %v", a, okA, b, okB)
		}
	})
}

// TestMergeTextAgreesWithGit: whatever both call clean must come out the same, up to
// texts in which the changed lines also stand elsewhere, where two right
// alignments exist: those never happen with lines that are all different.
func TestMergeTextAgreesWithGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	both, theirs := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		lines := make([]string, rapid.IntRange(0, 20).Draw(rt, "lines"))
		for i := range lines {
			lines[i] = "line " + string(rune('a'+i)) + "\n"
		}
		base := strings.Join(lines, "")
		x, y := editedLines(rt, lines, "x"), editedLines(rt, lines, "y")
		for name, data := range map[string]string{"b": base, "x": x, "y": y} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), git, "merge-file", "-p", "x", "b", "y")
		cmd.Dir = dir
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			rt.Fatal(err)
		}
		gitClean := err == nil
		got, ok := MergeText(base, x, y)
		switch {
		case ok && gitClean:
			both++
			if got != string(out) {
				rt.Fatalf("base %q\nx %q\ny %q\nours %q\ngit  %q", base, x, y, got, out)
			}
		case ok:
			rt.Fatalf("clean here, a conflict for git:\nbase %q\nx %q\ny %q\nours %q", base, x, y, got)
		case gitClean:
			theirs++ // stricter here: a person looks
		}
	})
	t.Logf("clean for both %d times, for git alone %d times", both, theirs)
	if both == 0 {
		t.Error("nothing was compared")
	}
}
