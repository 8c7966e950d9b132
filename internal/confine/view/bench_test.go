package view

import (
	"os"
	"testing"
)

// BenchmarkCompute is part of every start of a holder. It runs on this machine
// as it is, with the PATH it has.
func BenchmarkCompute(b *testing.B) {
	spec := baseSpec()
	spec.HomeDir, spec.Path = os.Getenv("HOME"), os.Getenv("PATH")
	for b.Loop() {
		if _, err := Compute(spec, "/scratch", OS{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSockets is part of every command in a live holder.
func BenchmarkSockets(b *testing.B) {
	spec := baseSpec()
	for b.Loop() {
		if _, err := Sockets(spec, OS{}); err != nil {
			b.Fatal(err)
		}
	}
}
