package confine

import (
	"crypto/rand"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/landlock"
	"github.com/ambit-run/ambit/internal/confine/native"
	"github.com/ambit-run/ambit/internal/confine/none"
	"github.com/ambit-run/ambit/internal/confine/view"
)

// All returns every rung of the ladder over the running machine, strongest first,
// as auto tries them; none comes last and is never tried.
func All() []engine.Confiner {
	return []engine.Confiner{native.New(view.OS{}), landlock.New(view.OS{}, rand.Text), none.New(rand.Text)}
}
