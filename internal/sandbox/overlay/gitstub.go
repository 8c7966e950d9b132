package overlay

import (
	"context"

	"github.com/ambit-run/ambit/internal/fsop"
)

func (s *Sandbox) checkCommits(context.Context, *fsop.Dir) error { return nil }
