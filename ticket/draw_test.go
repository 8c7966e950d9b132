package ticket

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDrawings(t *testing.T) {
	t.Parallel()
	src := "---\nid: M-1\ndepends_on: [M-0]\n---\n# t\n- [x] T1 a\n- [ ] T2 b after T1, X-9\n- [~] c\n- [-] d\n"
	d := must(t, src, BuildOptions{})
	dot, mermaid := DOT(d), Mermaid(d)
	for _, want := range []string{
		`digraph "M-1" {`, `  s0 [label="Satisfy ticket prerequisites", shape=plaintext];`, `  s2 [label="n02 T2 b"];`,
		`  x0 [label="M-0", style="rounded,dashed"];`, "  x0 -> s0 [style=dashed];", "  s1 -> s2;", "  x1 -> s2 [style=dashed];",
	} {
		if !strings.Contains(dot, want+"\n") {
			t.Errorf("DOT lacks %q:\n%s", want, dot)
		}
	}
	for _, want := range []string{`  s2["n02 T2 b"]`, `  x1(["X-9"])`, "  s1 --> s2", "  x1 -.-> s2", "  class s1 done", "  class s3,s4 off"} {
		if !strings.Contains(mermaid, want+"\n") {
			t.Errorf("Mermaid lacks %q:\n%s", want, mermaid)
		}
	}
	// What a literal ticket writes short is the same edge.
	tk, _ := Parse("t.md", []byte("- [ ] a\n- [ ] b after n01, n1, X\n"), Options{Grammar: GrammarLiteral})
	d, _ = Build(tk, BuildOptions{})
	if got := DOT(d); strings.Count(got, "  s0 -> s1;") != 2 || strings.Count(got, "x0 ") != 2 || strings.Contains(got, "x1") {
		t.Errorf("literal:\n%s", got)
	}
}

// TestDrawingsHoldAnyTitle: whatever a ticket says, each line of a drawing has one
// of the forms that a line may have, so no title ends its label.
func TestDrawingsHoldAnyTitle(t *testing.T) {
	t.Parallel()
	dot := regexp.MustCompile(`^(?:digraph "(?:[^"\\\n]|\\["\\])*" \{|\}|  // an arrow.*|  rankdir=LR;|  node \[.*\];` +
		`|  [sx]\d+ \[label="(?:[^"\\\n]|\\["\\])*"(?:, (?:style="[a-z,]+"|fillcolor="#[a-z]+"|shape=plaintext))*\];|  [sx]\d+ -> s\d+(?: \[style=dashed\])?;)$`)
	mermaid := regexp.MustCompile(`^(?:%% an arrow.*|flowchart LR|  s\d+\["[^"<>&` + "`" + `]*"\]|  x\d+\(\["[^"<>&` + "`" + `]*"\]\)|  s\d+ --> s\d+|  x\d+ -\.-> s\d+|  classDef \w+ [\w#:,-]+|  class [s\d,]+ \w+)$`)
	part := rapid.SampledFrom([]string{`"`, `\`, "]", "}", ";", "#", "<b>", "&", "`", "`x`", "\u2028", "\x1b[31m", "é", "--> ", "s1", "%%", "end", " ", "a", "{", "after ", "X-1", `q"r`})
	rapid.Check(t, func(t *rapid.T) {
		var src strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "tasks") {
			src.WriteString("- [ ] a" + strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "title"), "") + "\n")
		}
		for _, g := range Grammars() {
			tk, _ := Parse("t.md", []byte(src.String()), Options{Grammar: g})
			d, _ := Build(tk, BuildOptions{})
			if d == nil {
				continue
			}
			for _, c := range []struct {
				text string
				line *regexp.Regexp
			}{{DOT(d), dot}, {Mermaid(d), mermaid}} {
				for line := range strings.SplitSeq(strings.TrimSuffix(c.text, "\n"), "\n") {
					if !c.line.MatchString(line) {
						t.Fatalf("line %q of\n%s", line, c.text)
					}
				}
			}
		}
	})
}
