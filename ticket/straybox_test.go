package ticket

import (
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// TestNoBoxVanishes: what looks like a box to a person is a step or is reported,
// and a ticket with one that is open is not finished.
func TestNoBoxVanishes(t *testing.T) {
	t.Parallel()
	for _, lead := range []string{
		"\u00a0- ", "\u3000- ", "\u200b- ", "\u2028- ", "\u2029- ", "\u0085- ", "\ufeff- ", "\u2060\u00a0* ", "-\u00a0", "- \u200b", "-\u3000",
		"・ ", "• ", "– ", "— ", "－ ", "◦ ", "・", "1．", "1、 ", "",
	} {
		for box, open := range map[string]bool{"[ ] not done": true, "[x] done": false, "[-] not to do": false, "[x ] slip": false} {
			if lead == "" && !strings.HasPrefix(box, "[ ]") && !strings.HasPrefix(box, "[x] ") || strings.HasPrefix(box, "[-") && (lead == "・" || lead == "1．") {
				continue // not certainly a box
			}
			for _, before := range []string{"- [x] d\n", "- [x] d\n\n", "# T\n"} {
				text := before + lead + box + "\n"
				got, found := Parse("a.md", []byte(text), Options{})
				warned := false
				for _, f := range found {
					warned = warned || f.Severity == fault.SeverityWarning && strings.Contains(f.Summary, "does not read as list items")
				}
				if !warned {
					t.Errorf("%q: not reported: %v", text, found)
				}
				if strings.HasPrefix(before, "-") && got.Finished() == open {
					t.Errorf("%q: finished %v", text, got.Finished())
				}
			}
		}
	}
	for _, text := range []string{"- [x] d\u2028- [ ] not done\n", "- [x] d\f- [ ] not done\n", "- [x] d\u2029• [ ] not done\n"} {
		if got, found := Parse("a.md", []byte(text), Options{}); got.Finished() || len(found) == 0 || found[0].Severity == "" || !strings.Contains(found[0].Summary+found[len(found)-1].Summary, "list items") {
			t.Errorf("%q: finished %v, found %v", text, got.Finished(), found)
		}
	}
	for _, text := range []string{"- [x] d\n  see [ ]\n", "- [x] d\n\n[x]: target\n", "- [x] d\n\n| [ ] | a |\n", "- [x] d\n\n[ok] is fine\n"} {
		if got, _ := Parse("a.md", []byte(text), Options{}); !got.Finished() {
			t.Errorf("%q: that is no box", text)
		}
	}
}
