package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// checkpoint freezes the present state of all sandboxes under one name. The
// holder is closed for it: layers never move under a mount.
func (e *Engine) checkpoint(ctx context.Context, c *cell, name string, auto bool, obs Observer) error {
	if c.untracked() {
		return nil
	}
	if err := c.restack(ctx, obs); err != nil {
		return err
	}
	for _, rec := range c.plan.Sandboxes {
		if rec.Strategy == StrategyNone {
			continue
		}
		if err := c.boxes[rec.ID].Checkpoint(ctx, name); err != nil {
			return err
		}
	}
	c.plan.Checkpoints = append(c.plan.Checkpoints, Checkpoint{Name: name, At: e.deps.Now(), Auto: auto})
	return e.save(ctx, c.plan)
}

// restoreAll makes all sandboxes equal the named checkpoint.
func (e *Engine) restoreAll(ctx context.Context, c *cell, name string, obs Observer) error {
	if c.untracked() {
		return nil
	}
	if err := c.restack(ctx, obs); err != nil {
		return err
	}
	for _, rec := range c.plan.Sandboxes {
		if rec.Strategy == StrategyNone {
			continue
		}
		if err := c.boxes[rec.ID].Restore(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// untracked reports whether no sandbox of the plan keeps track of anything.
func (c *cell) untracked() bool {
	for _, rec := range c.plan.Sandboxes {
		if rec.Strategy != StrategyNone {
			return false
		}
	}
	return true
}

// Checkpoint freezes a plan's sandboxes by hand. See Service.
func (e *Engine) Checkpoint(ctx context.Context, plan, name string) (*Plan, error) {
	var out *Plan
	err := e.withPlan(ctx, plan, "checkpoint", func(p *Plan) error {
		out = p
		c, err := e.openCell(ctx, p, nil)
		if err != nil {
			return err
		}
		if c.untracked() {
			return fault.New(fault.Unsupported, "checkpoint", "the sandboxes of plan %s use the strategy none, which keeps no state", p.ID)
		}
		if strings.ContainsAny(name, ":@#/\n\x00") || name == "" || len(name) > 100 {
			return fault.New(fault.Invalid, "checkpoint", "%q is no name for a checkpoint", name).WithHint("letters, digits, dots and hyphens; up to 100 bytes")
		}
		full := "hand:" + name
		for _, cp := range p.Checkpoints {
			if cp.Name == full {
				return fault.New(fault.Exists, "checkpoint", "plan %s has a checkpoint %q from %s", p.ID, name, cp.At.Local().Format("15:04:05")).WithHint("choose another name")
			}
		}
		return errors.Join(e.idle(ctx, c), e.checkpoint(ctx, c, full, false, nil))
	})
	return out, err
}

// RestoreCheckpoint returns a plan's sandboxes to a checkpoint. What they are now
// is kept as a checkpoint of its own, so that no work is lost by it. See Service.
func (e *Engine) RestoreCheckpoint(ctx context.Context, plan, name string) (*Plan, error) {
	var out *Plan
	err := e.withPlan(ctx, plan, "restore checkpoint", func(p *Plan) error {
		out = p
		full, err := p.findCheckpoint(name)
		if err != nil {
			return err
		}
		c, err := e.openCell(ctx, p, nil)
		if err != nil {
			return err
		}
		if err := e.idle(ctx, c); err != nil {
			return err
		}
		kept := "now@" + e.deps.Now().UTC().Format("20060102T150405.000")
		if err := e.checkpoint(ctx, c, kept, true, nil); err != nil {
			return err
		}
		if err := e.restoreAll(ctx, c, full, nil); err != nil {
			return err
		}
		return e.record(ctx, p, "checkpoint.restored", map[string]string{"name": full, "kept": kept})
	})
	return out, err
}

// idle is a conflict when commands are live in the plan, instead of waiting for
// them as a run does.
func (e *Engine) idle(ctx context.Context, c *cell) error {
	live, err := c.conf.Live(ctx, c.plan.Dir)
	if err != nil || len(live) == 0 {
		return err
	}
	var names []string
	for _, l := range live {
		names = append(names, l.Name)
	}
	return fault.New(fault.Conflict, "checkpoint", "commands are live in plan %s", c.plan.ID).WithPaths(names...).
		WithHint("end them first: layers cannot move under a mount")
}

func (p *Plan) findCheckpoint(name string) (string, error) {
	if name == CheckpointCreation {
		return name, nil
	}
	var hits []string
	for _, cp := range p.Checkpoints {
		if cp.Name == name || cp.Name == "hand:"+name {
			return cp.Name, nil
		}
		if strings.HasPrefix(cp.Name, name) || strings.HasPrefix(strings.TrimPrefix(cp.Name, "hand:"), name) {
			hits = append(hits, cp.Name)
		}
	}
	if len(hits) == 1 {
		return hits[0], nil
	}
	all := []string{CheckpointCreation}
	for _, cp := range p.Checkpoints {
		all = append(all, cp.Name)
	}
	return "", fault.New(fault.NotFound, "restore checkpoint", "plan %s has no single checkpoint %q", p.ID, name).WithPaths(all...)
}
