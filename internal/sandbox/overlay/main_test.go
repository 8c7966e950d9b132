package overlay_test

import (
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
	"github.com/ambit-run/ambit/internal/sandbox/overlay"
)

func maker(git *gitx.Git, intercept fsop.Intercept) []engine.Strategy {
	return []engine.Strategy{overlay.New(overlay.Options{Git: git, Intercept: intercept})}
}

func TestMain(m *testing.M) { conformance.Main(m, maker) }
