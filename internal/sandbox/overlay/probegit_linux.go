package overlay

import "context"

func (p *prober) gitResource(context.Context) error { return nil }
