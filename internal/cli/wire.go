package cli

import (
	"context"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/config"
)

// reexecs are the hooks of the technologies that start ambit a second time. Each
// looks at the arguments and says whether they were meant for it.
var reexecs []func(args []string) (code int, handled bool)

// newService builds the engine with its technologies. The returned function
// closes what was opened.
func newService(_ context.Context, _ config.Config) (engine.Service, func() error, error) {
	return nil, nil, fault.New(fault.Unavailable, "start", "no engine is linked into this build").
		WithHint("build ambit from a complete tree")
}
