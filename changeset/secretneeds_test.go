package changeset

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is searched for first must be in everything that the expression finds.
func TestEverySecretHoldsWhatItsFormNeeds(t *testing.T) {
	t.Parallel()
	for _, p := range secretPatterns {
		t.Run(p.what, func(t *testing.T) {
			t.Parallel()
			// The generator has no notion of word boundaries.
			form := rapid.StringMatching(strings.ReplaceAll(p.re().String(), `\b`, ""))
			rapid.Check(t, func(t *rapid.T) {
				text := "x " + form.Draw(t, "secret") + " y"
				for _, at := range p.re().FindAllStringIndex(text, -1) {
					found := text[at[0]:at[1]]
					held := false
					for _, n := range p.needs {
						held = held || strings.Contains(found, n)
					}
					if !held {
						t.Fatalf("%q holds none of %q", found, p.needs)
					}
				}
			})
		})
	}
}
