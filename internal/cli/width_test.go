package cli

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestWidths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want int
	}{
		{"abc", 3}, {"日本", 4}, {"e\u0301", 1}, {"👍", 2}, {"한국", 4}, {"naïve", 5}, {"…", 1}, {"⠋", 1}, {"✓", 1}, {"", 0},
	} {
		if got := textWidth(tt.in); got != tt.want {
			t.Errorf("textWidth(%q) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		cols int
		want string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"abcdef", 1, "…"}, {"abcdef", 0, ""}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
	} {
		if got := fit(tt.in, tt.cols); got != tt.want {
			t.Errorf("fit(%q, %d) = %q, want %q", tt.in, tt.cols, got, tt.want)
		}
	}
	if got := ellipsisMiddle("/home/someone/projects/api", 16); got != "/home…rojects/api" && textWidth(got) > 16 {
		t.Errorf("ellipsisMiddle = %q", got)
	}
}

func TestFittedTextIsNeverWider(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		n := rapid.IntRange(0, 40).Draw(t, "columns")
		for _, got := range []string{fit(visible(s), n), ellipsisMiddle(visible(s), n)} {
			if textWidth(got) > n || !utf8.ValidString(got) {
				t.Fatalf("%q has %d columns of %d", got, textWidth(got), n)
			}
		}
	})
}
