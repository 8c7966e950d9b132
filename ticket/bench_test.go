package ticket

import (
	"fmt"
	"strings"
	"testing"
)

// largeTicket writes a ticket of n tasks, most of which depend on another.
func largeTicket(n int) []byte {
	var b strings.Builder
	b.WriteString("# A large ticket\n\n## Tasks\n\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "- [ ] T%05d Implement part %d in `src/pkg%d/file.go`", i, i, i)
		if i > 3 {
			fmt.Fprintf(&b, " (depends on T%05d, T%05d)", i-1, i-3)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n## Files Created\n\n")
	for i := 1; i <= n; i += 10 {
		fmt.Fprintf(&b, "- `src/pkg%d/file.go` - part %d\n", i, i)
	}
	return []byte(b.String())
}

// plan does all that `ambit dag` does with a ticket.
func plan(src []byte) (*Dag, string) {
	t, _ := Parse("large.md", src, Options{})
	d, _ := Build(t, BuildOptions{})
	return d, d.ManifestHash()
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{100, 1000, 2800, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src := largeTicket(n)
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				plan(src)
			}
		})
	}
}

// BenchmarkPlanPlain is a list without labels, dependencies and files.
func BenchmarkPlanPlain10000(b *testing.B) {
	var list strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&list, "- [ ] Write part %d of the service and its test\n", i)
	}
	src := []byte("# A plain ticket\n\n" + list.String())
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		plan(src)
	}
}

func BenchmarkParse10000(b *testing.B) {
	src := largeTicket(10000)
	b.ReportAllocs()
	for b.Loop() {
		Parse("large.md", src, Options{})
	}
}

func BenchmarkWaves10000(b *testing.B) {
	d, _ := plan(largeTicket(10000))
	b.ReportAllocs()
	for b.Loop() {
		d.Waves()
	}
}
