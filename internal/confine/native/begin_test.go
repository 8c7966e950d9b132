//go:build linux

package native

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/holder"
)

// outers counts the outer processes of a plan.
func outers(plan string) (n int) {
	for _, cmd := range planProcesses(plan) {
		if strings.Contains(cmd, holder.ArgOuter) {
			n++
		}
	}
	return n
}

// What was begun before the sandboxes were known is what Open goes on with.
func TestOpenGoesOnWithWhatWasBegun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.spec.Plan = fmt.Sprintf("begun-%d", rand.Int64())
	s.c.Begin(engine.CageSpec{Plan: s.spec.Plan, PlanDir: s.spec.PlanDir, Network: s.spec.Network})
	if n := outers(s.spec.Plan); n != 1 {
		t.Fatalf("%d holders are begun", n)
	}
	s.open()
	if exit, err := s.cage.Run(t.Context(), trueCommand(s)); err != nil || exit.Code != 0 {
		t.Fatalf("%+v %v", exit, err)
	}
	if n := outers(s.spec.Plan); n != 1 {
		t.Errorf("%d holders for one plan", n)
	}
	if err := s.c.Close(t.Context(), s.spec, false); err != nil {
		t.Fatal(err)
	}
	if left := planProcesses(s.spec.Plan); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// What was begun and is not needed ends, whether it is closed or a spec follows
// that cannot be opened.
func TestWhatWasBegunInVainEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.spec.Plan = fmt.Sprintf("vain-%d", rand.Int64())
	s.c.Begin(s.spec)
	if err := s.c.Close(t.Context(), s.spec, false); err != nil {
		t.Fatal(err)
	}
	s.c.Begin(s.spec)
	bad := s.spec
	bad.HomeDir = "not absolute"
	if _, err := s.c.Open(t.Context(), bad); err == nil {
		t.Error("a bad spec was opened")
	}
	// The outer process is gone already; the inner one dies with it.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left := planProcesses(s.spec.Plan)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %v", left)
		}
	}
}
