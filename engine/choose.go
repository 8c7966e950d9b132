package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// chooseRung picks the confinement. Auto walks down the ladder and says why; a
// rung that was asked for by name and is not to be had is an error, never a
// weaker one.
func (e *Engine) chooseRung(ctx context.Context, want Rung) (Confiner, string, error) {
	if want == "" {
		want = RungAuto
	}
	if want != RungAuto {
		c, err := e.confiner(want)
		if err != nil {
			return nil, "", err
		}
		probe, err := e.probeRung(ctx, c)
		if err != nil {
			return nil, "", err
		}
		if !probe.OK {
			return nil, "", unsupported("choose confinement", fmt.Sprintf("confinement %q is not to be had here: %s", want, probe.Reason), probe.Missing)
		}
		return c, "asked for", nil
	}
	var missing []string
	for _, c := range e.deps.Confiners {
		if c.Rung() == RungNone {
			continue
		}
		probe, err := e.probeRung(ctx, c)
		if err != nil {
			return nil, "", err
		}
		if probe.OK {
			why := probe.Reason
			if len(missing) > 0 {
				why = strings.Join(missing, "; ")
			}
			return c, why, nil
		}
		missing = append(missing, fmt.Sprintf("%s: %s", c.Rung(), probe.Reason))
	}
	return nil, "", unsupported("choose confinement", "this machine offers no confinement", missing)
}

// chooseStrategy picks how one resource is isolated, and notes in the request what
// the choice expects to copy.
func (e *Engine) chooseStrategy(ctx context.Context, want StrategyName, req *CreateRequest) (Strategy, string, error) {
	if want == "" {
		want = StrategyAuto
	}
	if want != StrategyAuto {
		s, err := e.strategy(want)
		if err != nil {
			return nil, "", err
		}
		probe, err := s.Probe(ctx, *req)
		if err != nil {
			return nil, "", err
		}
		if !probe.OK {
			return nil, "", unsupported("choose strategy", fmt.Sprintf("strategy %q does not fit %s: %s", want, req.Resource.Path, probe.Reason), probe.Missing)
		}
		req.Expect = probe.Bytes
		return s, "asked for", nil
	}
	var missing []string
	for _, s := range e.deps.Strategies {
		switch s.Name() {
		case StrategyNone, StrategyFilesystemCopy: // only on request: none isolates nothing, and copy_on_write covers the copy
			continue
		case StrategyOverlay:
			if !req.Confined {
				missing = append(missing, "overlay: needs namespaces of its own")
				continue
			}
		case StrategyGitWorktree:
			if req.Resource.Git == nil {
				continue
			}
		case StrategyAuto, StrategyCopyOnWrite: // whoever says it can
		}
		probe, err := s.Probe(ctx, *req)
		if err != nil {
			return nil, "", err
		}
		if probe.OK {
			req.Expect = probe.Bytes
			why := probe.Reason
			if len(missing) > 0 {
				why += " (" + strings.Join(missing, "; ") + ")"
			}
			return s, why, nil
		}
		missing = append(missing, fmt.Sprintf("%s: %s", s.Name(), probe.Reason))
	}
	return nil, "", unsupported("choose strategy", "no strategy can isolate "+req.Resource.Path, missing)
}

func unsupported(op, message string, missing []string) error {
	f := fault.New(fault.Unsupported, op, "%s", message)
	if len(missing) > 0 {
		f = f.WithHint("%s", strings.Join(missing, "; "))
	}
	return f
}
