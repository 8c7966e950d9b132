package ticket

import "testing"

// TestGrowthIsLinear compares allocations, which do not depend on the machine: ten
// times the tasks make ten times the allocations, for a plain ticket and for one
// as long chain, where a careless readiness would be quadratic.
func TestGrowthIsLinear(t *testing.T) {
	for name, opts := range map[string]BuildOptions{"plain": {}, "sequential": {Sequential: true}} {
		allocs := func(n int) float64 {
			src := largeTicket(n)
			return testing.AllocsPerRun(2, func() {
				tk, _ := Parse("large.md", src, Options{})
				d, _ := Build(tk, opts)
				d.ManifestHash()
				d.Waves()
			})
		}
		small, large := allocs(1000), allocs(10_000)
		if ratio := large / small; ratio < 8 || ratio > 11 {
			t.Errorf("%s: allocations grow %.1f times for 10 times the tasks (%.0f to %.0f)", name, ratio, small, large)
		}
	}
}
