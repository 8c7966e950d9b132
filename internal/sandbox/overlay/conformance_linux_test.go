package overlay_test

import (
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: the suite runs in internal/sandbox too")
	}
	conformance.Run(t, maker, engine.StrategyOverlay)
}
