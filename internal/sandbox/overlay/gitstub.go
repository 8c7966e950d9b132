package overlay

import (
	"context"

	"github.com/ambit-run/ambit/internal/fsop"
)

func (s *Sandbox) checkCommits(context.Context, *fsop.Dir) error { return nil }
func (s *Sandbox) releaseBase(context.Context) error             { return nil }
func (c *creation) frozen(context.Context, *fsop.Dir) error      { return nil }
