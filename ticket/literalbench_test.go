package ticket

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// largeLiteral writes a ticket of n tasks, most of which depend on another, and
// whose files lie in the titles.
func largeLiteral(n int) []byte {
	var b strings.Builder
	b.WriteString("# A large ticket\n\n## Tasks\n\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "- [ ] Implement part %d in src/pkg%d/file.go", i, i)
		if i > 3 {
			fmt.Fprintf(&b, " depends on n%02d, n%02d", i-1, i-3)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n## Files Created\n\n")
	for i := 1; i <= n; i += 10 {
		fmt.Fprintf(&b, "- `src/pkg%d/file.go` - part %d\n", i, i)
	}
	return []byte(b.String())
}

func planLiteral(src []byte) string {
	t, _ := Parse("large.md", src, Options{Grammar: GrammarLiteral})
	d, _ := Build(t, BuildOptions{})
	return d.ManifestHash()
}

func BenchmarkPlanLiteral(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src := largeLiteral(n)
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				planLiteral(src)
			}
		})
	}
}

// TestLiteralGrowthIsLinear compares allocations, which do not depend on the
// machine.
func TestLiteralGrowthIsLinear(t *testing.T) {
	allocs := func(n int) float64 {
		src := largeLiteral(n)
		return testing.AllocsPerRun(2, func() { planLiteral(src) })
	}
	small, large := allocs(1000), allocs(10_000)
	if ratio := large / small; ratio < 8 || ratio > 11 {
		t.Errorf("allocations grow %.1f times for 10 times the tasks (%.0f to %.0f)", ratio, small, large)
	}
}

// TestLiteralDoesNotBacktrack gives each expression the lines it would backtrack
// on. They are as long as a ticket may be; were one quadratic, this would not end.
func TestLiteralDoesNotBacktrack(t *testing.T) {
	t.Parallel()
	const n = 1 << 20
	for name, text := range map[string]string{
		"white space before a bullet":  strings.Repeat(" ", n) + "x",
		"white space behind a box":     "- [ ] a" + strings.Repeat(" ", n) + "b",
		"keywords without an id":       "- [ ] " + strings.Repeat("after ", n/6) + "!",
		"keywords before white space":  "- [ ] x" + strings.Repeat(" after  (", n/9),
		"commas without an id":         "- [ ] after a" + strings.Repeat(" , a ", n/5) + ",",
		"a path with gaps":             "## Files Created\n- a" + strings.Repeat(" a", n/2) + "`x",
		"a path and a gap":             "## Files Created\n- a" + strings.Repeat(" ", n) + "b`c",
		"one letter, named everywhere": "- [ ] " + strings.Repeat("a", 1<<12) + "\n## Files Created\n" + strings.Repeat("- a\n- aa\n", 64),
	} {
		tk, ds := Parse("t.md", []byte(text+"\n"), Options{Grammar: GrammarLiteral})
		if d, more := Build(tk, BuildOptions{}); d == nil || fault.HasErrors(ds) {
			t.Errorf("%s: %v %v", name, ds, more)
		}
	}
}
