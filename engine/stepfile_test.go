package engine

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStepNamesFit(t *testing.T) {
	t.Parallel()
	if got := stepName("n01-write"); got != "n01-write" {
		t.Errorf("a short id became %q", got)
	}
	seen := map[string]bool{}
	for _, id := range []string{
		strings.Repeat("x", stepNameMax), strings.Repeat("x", stepNameMax+1), strings.Repeat("x", 5000),
		strings.Repeat("ü", 200), "a" + strings.Repeat("ü", 200),
	} {
		got := stepName(id)
		if len(got) > stepNameMax || !utf8.ValidString(got) || seen[got] {
			t.Errorf("%q", got)
		}
		seen[got] = true
	}
}
