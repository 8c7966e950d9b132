package confine

import (
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/native"
	"github.com/ambit-run/ambit/internal/confine/view"
)

// All returns every rung of the ladder, strongest first, as auto tries them.
func All() []engine.Confiner {
	return []engine.Confiner{native.New(view.OS{})}
}
