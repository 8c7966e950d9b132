package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// handoffInside is where the plan's handoff folder appears under native
// confinement; on other rungs it is read at its own path.
const handoffInside = "/run/ambit/handoff"

// cell is an open plan: its sandboxes attached and its confinement reachable.
type cell struct {
	eng       *Engine
	plan      *Plan
	boxes     map[string]Sandbox
	entrances []Entrance
	conf      Confiner
	spec      CageSpec
	cage      Cage
	environ   []string
	gitLimit  time.Duration // how long one git inside may take; 0 = what steps may by configuration
}

// openCell attaches the plan's sandboxes; the cage opens when it is first needed.
func (e *Engine) openCell(ctx context.Context, p *Plan, environ []string) (*cell, error) {
	conf, err := e.confiner(p.Rung)
	if err != nil {
		return nil, err
	}
	c := &cell{eng: e, plan: p, conf: conf, boxes: map[string]Sandbox{}, environ: environ}
	for _, rec := range p.Sandboxes {
		sb, err := e.attach(ctx, rec)
		if err != nil {
			return nil, err
		}
		c.boxes[rec.ID] = sb
	}
	return c, nil
}

// resourcesThere says which resource of the plan has vanished, if one has.
func (c *cell) resourcesThere(doing string) error {
	for _, rec := range c.plan.Sandboxes {
		if _, err := os.Stat(rec.Resource.Path); errors.Is(err, os.ErrNotExist) {
			return fault.New(fault.NotFound, doing, "%s, which plan %s works on, is gone", rec.Resource.Path, c.plan.ID).
				WithHint("put it back at that path; until then the plan's own work is kept in %s", rec.Dir)
		}
	}
	return nil
}

// enter asks the sandboxes what the cage must mount and builds its spec.
func (c *cell) enter(ctx context.Context) error {
	if err := c.resourcesThere("enter"); err != nil {
		return err
	}
	c.entrances = nil
	for _, rec := range c.plan.Sandboxes {
		en, err := c.boxes[rec.ID].Enter(ctx)
		if err != nil {
			return err
		}
		c.entrances = append(c.entrances, en)
	}
	handoff := filepath.Join(c.plan.Dir, "handoff")
	c.entrances = append(c.entrances, Entrance{
		Mounts: []Mount{{Kind: MountBind, Source: handoff, Target: handoffInside, ReadOnly: true}},
		Path:   handoff, Root: handoff, ReadOnly: true,
	})
	var real []string
	for _, rec := range c.plan.Sandboxes {
		if rec.Strategy != StrategyNone {
			real = append(real, rec.Resource.Path)
		}
	}
	c.spec = CageSpec{
		Plan: c.plan.ID, PlanDir: c.plan.Dir, StateDir: c.eng.cfg.StateDir, Sandbox: c.entrances, Real: real,
		Home: c.plan.Options.Home, HomeDir: c.eng.cfg.HomeDir, Path: lookup(c.environ, "PATH"),
		Network: c.plan.Options.Network, ReadWrite: c.plan.Options.ReadWrite, Idle: c.eng.cfg.Idle,
	}
	return nil
}

// open makes sure that the cage holds the present state of the sandboxes, and
// that its boundary was proved once on this machine.
func (c *cell) open(ctx context.Context, obs Observer) (Cage, error) {
	if c.cage != nil {
		return c.cage, nil
	}
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	cage, err := c.conf.Open(ctx, c.spec)
	if err != nil {
		if fault.Is(err, fault.Unsupported) {
			c.eng.forgetProbe(c.conf)
		}
		return nil, err
	}
	if err := c.prove(ctx, cage, obs); err != nil {
		return nil, errors.Join(err, cage.Release(), c.conf.Close(context.WithoutCancel(ctx), c.spec, false))
	}
	c.cage = cage
	return cage, nil
}

// close ends the holder; the next open mounts whatever the layers are then.
func (c *cell) close(ctx context.Context, force bool) error {
	if c.cage != nil {
		err := c.cage.Release()
		c.cage = nil
		if err != nil {
			return err
		}
	}
	if c.spec.PlanDir == "" {
		c.spec.PlanDir, c.spec.Plan = c.plan.Dir, c.plan.ID
	}
	return c.conf.Close(context.WithoutCancel(ctx), c.spec, force)
}

// release lets the holder idle.
func (c *cell) release() error {
	if c.cage == nil {
		return nil
	}
	err := c.cage.Release()
	c.cage = nil
	return err
}

// prove runs the probe from inside, once per machine boot, build and shape of
// boundary: what is declared and not proved stops the plan.
func (c *cell) prove(ctx context.Context, cage Cage, obs Observer) error {
	if c.plan.Rung == RungNone {
		return nil
	}
	key, err := c.proofKey()
	if err != nil {
		return err
	}
	path := filepath.Join(c.eng.cfg.StateDir, "proofs", key+".json")
	var proof Proof
	if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &proof) == nil {
		if ok, _, _ := proof.Proved(); ok {
			if c.plan.Proof == nil { // said once per plan, however often its holder is opened
				obs.send(Update{Kind: UpdateProof, At: c.eng.deps.Now(), Proof: &proof})
			}
			c.plan.Proof = &proof
			return nil
		}
	}
	if proof, err = cage.Prove(ctx); err != nil {
		return fault.Wrap("", "prove the boundary", err)
	}
	proof.At = c.eng.deps.Now()
	c.plan.Proof = &proof
	obs.send(Update{Kind: UpdateProof, At: c.eng.deps.Now(), Proof: &proof})
	if ok, held, all := proof.Proved(); !ok {
		var failed []string
		for _, l := range proof.Lines {
			if !l.OK {
				failed = append(failed, fmt.Sprintf("%s: wanted %s, got %s", l.Name, l.Want, l.Got))
			}
		}
		return fault.New(fault.Unsupported, "prove the boundary", "the %s boundary does not hold on this machine (%d of %d lines)", proof.Rung, held, all).
			WithPaths(failed...).WithHint("nothing was run. `ambit doctor` says what is missing; --confine landlock or none is weaker and must be asked for")
	}
	raw, err := json.Marshal(proof)
	if err != nil {
		return fault.Wrap(fault.Internal, "keep the proof", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return folderFault("keep the proof", err)
	}
	if err := writeDurable(path, raw); err != nil {
		return folderFault("keep the proof", err)
	}
	return nil
}

// proofKey names what a proof vouches for: this build, boot and person, and the
// shape of the boundary. The spec counts whole but for what differs from plan to
// plan without changing what is enforced: the plan's own id and folders. What is
// proved of one resource holds for another that is mounted the same way, and the
// targets that were tried are in the proof.
func (c *cell) proofKey() (string, error) {
	shape := c.spec
	shape.Plan, shape.PlanDir, shape.Real, shape.Sandbox, shape.Idle = "", "", nil, nil, 0
	type box struct {
		Strategy StrategyName
		Lower    Lower
		Kinds    []MountKind
		ReadOnly []bool
	}
	var boxes []box
	for i, rec := range c.plan.Sandboxes {
		b := box{Strategy: rec.Strategy, Lower: rec.Lower}
		for _, m := range c.entrances[i].Mounts {
			b.Kinds, b.ReadOnly = append(b.Kinds, m.Kind), append(b.ReadOnly, m.ReadOnly)
		}
		boxes = append(boxes, b)
	}
	raw, err := json.Marshal(struct {
		Version, Boot string
		UID           int
		Rung          Rung
		Spec          CageSpec
		Boxes         []box
	}{c.eng.cfg.Version, c.eng.deps.Self.BootID, c.eng.cfg.UID, c.plan.Rung, shape, boxes})
	if err != nil {
		return "", fault.Wrap(fault.Internal, "name the proof", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:12]), nil
}

// restack closes the holder so that layers can change under it. While commands
// of the person's own are live it waits for them, saying so, because a second
// mount of the same layers would show both sides garbage.
func (c *cell) restack(ctx context.Context, obs Observer) error {
	said := false
	for {
		err := c.close(ctx, false)
		if err == nil || !fault.Is(err, fault.Conflict) {
			return err
		}
		if !said {
			said = true
			obs.send(Update{Kind: UpdateNotice, At: c.eng.deps.Now(), Text: "waiting before the checkpoint: " + err.Error()})
		}
		t := time.NewTimer(200 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}

// inside maps a host directory to where commands find it: into the sandbox whose
// resource holds it, else the first sandbox's root.
func (c *cell) inside(dir string) string {
	for i, rec := range c.plan.Sandboxes {
		root := c.entrances[i].Root
		for _, base := range []string{rec.Resource.Path, rec.Resource.Spelled} {
			if base != "" && within(base, dir) {
				return filepath.Join(root, strings.TrimPrefix(dir, base))
			}
		}
	}
	if len(c.entrances) > 0 {
		return c.entrances[0].Root
	}
	return "/"
}

func (c *cell) handoffPath(name string) string {
	if c.plan.Rung == RungNative {
		return filepath.Join(handoffInside, name)
	}
	return filepath.Join(c.plan.Dir, "handoff", name)
}
