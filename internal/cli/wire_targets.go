package cli

import (
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/gitx"
)

// targets are the ways in which a changeset is carried into a resource.
func targets(*gitx.Git) []engine.Target { return nil }
