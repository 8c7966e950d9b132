package changeset

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDiffLinesRebuilds: keeping what is equal and replacing the rest turns one
// side into the other, and no difference could be left out at its ends.
func TestDiffLinesRebuilds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a := splitLines(textGen().Draw(rt, "a"))
		b := splitLines(textGen().Draw(rt, "b"))
		var got []string
		at := 0
		for _, d := range diffLines(a, b) {
			if d.Start < at || d.Start == d.End && d.ReplStart == d.ReplEnd {
				rt.Fatalf("out of order or empty: %+v", d)
			}
			got = append(got, a[at:d.Start]...)
			if len(got) != d.ReplStart {
				rt.Fatalf("%+v: at line %d of the result", d, len(got))
			}
			got = append(got, b[d.ReplStart:d.ReplEnd]...)
			at = d.End
		}
		got = append(got, a[at:]...)
		if strings.Join(got, "") != strings.Join(b, "") {
			rt.Fatalf("rebuilt %q, want %q", got, b)
		}
	})
}

// TestDiffLinesStaysSmall: many scattered edits must not be reported as one large
// replacement (the library alone gives up after some fifty).
func TestDiffLinesStaysSmall(t *testing.T) {
	t.Parallel()
	var a, b []string
	for i := range 2000 {
		l := fmt.Sprintf("line %d\n", i)
		a = append(a, l, "\n")
		if i%10 == 0 {
			l = fmt.Sprintf("edited %d\n", i)
		}
		b = append(b, l, "\n")
	}
	n := 0
	for _, d := range diffLines(a, b) {
		n += d.End - d.Start + d.ReplEnd - d.ReplStart
	}
	if n != 400 {
		t.Errorf("200 edited lines read as %d removed and added ones, want 400", n)
	}
}

func TestSplitLinesKeepsEveryByte(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "a", "a\n", "a\r\nb", "\n\n", "\xff\n\x00"} {
		if got := strings.Join(splitLines(text), ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// BenchmarkDiffLines shows that cost grows with size, not with its square.
func BenchmarkDiffLines(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		var x, y []string
		for i := range n {
			l := fmt.Sprintf("line %d\n", i%(n/3+1))
			x = append(x, l)
			if i%20 == 0 {
				l = fmt.Sprintf("edited %d\n", i)
			}
			y = append(y, l)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				diffLines(x, y)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/line")
		})
	}
}
