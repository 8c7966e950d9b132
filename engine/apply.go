package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

// States of an ApplyRecord.
const (
	applyPreparing = "preparing"
	applyDecided   = "decided"
	applyCommitted = "committed"
	applyUndoing   = "undoing"
	applyUndone    = "undone"
	applyAbandoned = "abandoned"
)

// Apply carries a plan's changes into the real resources, all or nothing:
// every target prepares, one journal line decides, every target commits, the
// result is read again. See Service.
func (e *Engine) Apply(ctx context.Context, req ApplyRequest) (*ApplyResult, error) {
	var res *ApplyResult
	err := e.withPlan(ctx, req.Plan, "apply", func(p *Plan) error {
		switch p.Status {
		case PlanReview, PlanFailed, PlanInterrupted, PlanUndone, PlanApplied:
		default:
			return fault.New(fault.Conflict, "apply", "plan %s is %s", p.ID, p.Status).
				WithHint("`ambit status %s` says what it waits for", p.ID)
		}
		c, err := e.openCell(ctx, p, e.cfg.Environ)
		if err != nil {
			return err
		}
		if err := e.idle(ctx, c); err != nil {
			return err
		}
		res, err = e.apply(ctx, c, req)
		return errors.Join(err, c.close(ctx, false))
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// part is one sandbox's share of an apply.
type part struct {
	rec    SandboxRecord
	target Target
	req    TargetRequest
}

func (e *Engine) apply(ctx context.Context, c *cell, req ApplyRequest) (*ApplyResult, error) {
	p := c.plan
	whole := len(req.Only) == 0 && len(req.Paths) == 0 && !req.Ignored && !p.standing() // the commits hold no ignored files, and more than what is left
	rv, err := e.review(ctx, c, ReviewRequest{Plan: p.ID, Only: req.Only, Paths: req.Paths, Dir: req.Dir, Ignored: req.Ignored})
	if err != nil {
		return nil, err
	}
	if err := gate(rv, req.Allow); err != nil {
		return nil, err
	}
	parts, notices, err := e.parts(ctx, c, rv, req, whole)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 && p.Status == PlanApplied {
		return nil, fault.New(fault.Conflict, "apply", "plan %s is applied already", p.ID).
			WithHint("`ambit undo %s` reverses it", p.ID)
	}
	if len(parts) == 0 {
		return nil, fault.New(fault.Conflict, "apply", "plan %s changed nothing", p.ID).
			WithHint("`ambit discard %s` drops it", p.ID)
	}
	rec := ApplyRecord{ID: fmt.Sprintf("a%d", len(p.Applies)+1), To: parts[0].target.To(), At: e.deps.Now(), Only: req.Only, Was: p.Status, Status: applyPreparing}
	applied, left, err := carried(p, parts)
	if err != nil {
		return nil, err
	}
	notices = append(notices, left...)
	if n := p.NotRunNotice(); n != "" {
		notices = append([]string{n}, notices...)
	}
	rec.Summary = fmt.Sprintf("%d changes in %d resources", applied, len(parts))
	line := journalLine{Apply: rec.ID, To: rec.To, Was: p.Status, Only: req.Only, Summary: rec.Summary, Rest: rv.Rest}
	for i := range parts {
		dir := filepath.Join(p.Dir, "apply", rec.ID, parts[i].rec.ID)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, folderFault("apply", err)
		}
		parts[i].req.Dir = dir
		line.Targets = append(line.Targets, journalTarget{Sandbox: parts[i].rec.ID, To: parts[i].target.To(), Dir: dir})
	}
	var chosen []ReviewSet
	for _, pt := range parts {
		chosen = append(chosen, ReviewSet{Sandbox: pt.rec.ID, Set: pt.req.Set})
	}
	if err := e.writePaths(p.applyPaths(rec.ID), chosen); err != nil {
		return nil, err
	}
	p.Applies = append(p.Applies, rec)
	p.Status = PlanApplying
	if err := e.journalled(ctx, p, line, journalPrepare); err != nil {
		return nil, err
	}
	// Bottom-up: the last made is the first prepared.
	for i := range parts {
		state, note, err := e.prepare(ctx, &parts[i])
		if err != nil {
			return nil, errors.Join(e.describe(p, parts[i].rec, err), e.abandon(ctx, p, line))
		}
		line.Targets[i].State = state
		if note != "" {
			notices = append(notices, note)
		}
	}
	// Only now that nothing stands in the way: what is kept of a real tree that
	// does not fit the plan would be a wrong base for good.
	kept, err := e.keepBases(ctx, p, rec.ID, func(ch stepChange) bool { return ch.New })
	if err != nil {
		return nil, errors.Join(err, e.abandon(ctx, p, line))
	}
	notices = append(notices, kept...)
	if err := e.journalled(ctx, p, line, journalCommit); err != nil {
		// The line may or may not be on the disk: the journal file decides, and
		// recover reads it. Nothing is abandoned on a guess.
		return nil, err
	}
	e.setApply(p, rec.ID, applyDecided)
	// From here on the plan goes forward whatever the person presses.
	if err := e.rollForward(context.WithoutCancel(ctx), p, line); err != nil {
		return nil, err
	}
	return &ApplyResult{Plan: p, Record: p.Applies[len(p.Applies)-1], Applied: applied, Rest: rv.Rest, Notices: notices}, nil
}

// standing reports whether an apply of the plan is carried out and not undone.
func (p *Plan) standing() bool {
	for _, a := range p.Applies {
		if a.Status == applyCommitted {
			return true
		}
	}
	return false
}

// prepare has a target prepare its part. Commits that hold something else than
// what was reviewed are left behind, said, and replaced by one commit made from
// the reviewed files.
func (e *Engine) prepare(ctx context.Context, pt *part) (state json.RawMessage, note string, err error) {
	state, err = pt.target.Prepare(ctx, pt.req)
	if pt.req.History == nil || !errors.Is(err, ErrNotReviewed) {
		return state, "", err
	}
	if err := pt.target.Abandon(ctx, pt.req.Dir, nil); err != nil {
		return nil, "", err
	}
	paths := fault.As(err).Paths
	note = fmt.Sprintf("%s: the steps' commits hold something else than what you reviewed (%s), so they are left out: one commit is made from the files",
		pt.rec.Resource.Name, strings.Join(paths[:min(len(paths), 5)], ", "))
	pt.req.History = nil
	state, err = pt.target.Prepare(ctx, pt.req)
	return state, note, err
}

// gate stops on flags that a person must decide.
func gate(rv *Review, allow []changeset.Flag) error {
	ok := map[changeset.Flag]bool{}
	for _, f := range allow {
		ok[f] = true
	}
	var paths, names []string
	seen := map[changeset.Flag]bool{}
	for _, ch := range rv.Blocking {
		for _, f := range ch.Flags {
			if f.Blocking() && !ok[f] {
				paths = append(paths, fmt.Sprintf("%s (%s)", ch.Path, f))
				if !seen[f] {
					seen[f] = true
					names = append(names, "--allow "+string(f))
				}
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return fault.New(fault.Denied, "apply", "some changes need your decision").WithPaths(paths...).
		WithHint("look at them with `ambit diff`, then leave them out with --only, or say %s", strings.Join(names, " "))
}

// Destination says where an apply that was asked to go to "to" ("" = the default)
// carries a resource's changes: only git knows commits and branches; the default
// is a commit for a ticket's steps in a checkout that has one, else the files.
func (p *Plan) Destination(r Resource, to ApplyTo) ApplyTo {
	switch {
	case r.Git == nil:
		return ToWorktree
	case to != "":
		return to
	case p.Kind == "run" && r.Git.Head != "":
		return ToCommit
	}
	return ToWorktree
}

// parts pairs each changed sandbox with the target that carries it, bottom-up.
func (e *Engine) parts(ctx context.Context, c *cell, rv *Review, req ApplyRequest, whole bool) (parts []part, notices []string, err error) {
	p := c.plan
	for i := len(p.Sandboxes) - 1; i >= 0; i-- {
		rec, rs := p.Sandboxes[i], rv.Sets[i]
		if len(rs.Set.Changes) == 0 || rec.Strategy == StrategyNone {
			continue
		}
		if len(rs.Set.Drift) > 0 {
			notices = append(notices, fmt.Sprintf("%s: %d paths changed outside meanwhile; they are not touched", rec.Resource.Name, len(rs.Set.Drift)))
		}
		to := p.Destination(rec.Resource, req.To)
		t, err := e.target(to)
		if err != nil {
			return nil, nil, err
		}
		pt := part{rec: rec, target: t, req: TargetRequest{
			Plan: p.ID, Resource: rec.Resource, Set: rs.Set, Src: rs.Source,
			AllowSetuid: allows(req.Allow, changeset.FlagSetuid), Merge: rec.Resource.Git != nil,
			Branch: req.Branch, Message: req.Message, Squash: req.Squash, Author: e.deps.Author(ctx, rec.Resource), Now: e.deps.Now(),
		}}
		if pt.req.Message == "" {
			pt.req.Message = p.Title
		}
		if to == ToBranch && pt.req.Branch == "" {
			pt.req.Branch = "ambit/" + p.ID
		}
		if to != ToWorktree && whole && p.Kind == "run" {
			h, note, err := c.history(ctx, i)
			if err != nil {
				return nil, nil, err
			}
			if note != "" {
				notices = append(notices, note)
			}
			pt.req.History = h
		}
		if rec.Resource.Git != nil {
			note, err := c.leftBehind(ctx, i, pt.req.History != nil)
			if err != nil {
				return nil, nil, err
			}
			if note != "" {
				notices = append(notices, note)
			}
		}
		parts = append(parts, pt)
	}
	return parts, notices, nil
}

func allows(fs []changeset.Flag, f changeset.Flag) bool {
	for _, g := range fs {
		if g == f {
			return true
		}
	}
	return false
}

// history packs the commits of a run's sandbox, with whatever came after its
// last step as one more commit. Nil with a note when the sandbox's repository
// cannot give them: then one commit is built from the files.
func (c *cell) history(ctx context.Context, i int) (*GitHistory, string, error) {
	rec := c.plan.Sandboxes[i]
	tip, reason, err := c.commitInside(ctx, i, "Changes after the last step", []string{"Ambit-Plan: " + c.plan.ID})
	if err != nil {
		return nil, "", err
	}
	if tip == "" {
		return nil, fmt.Sprintf("%s: the commits of the steps cannot be used (%s); one commit is made from the files", rec.Resource.Name, reason), nil
	}
	base := c.boxes[rec.ID].Info().ChainBase
	if base == "" {
		base = rec.Base
	}
	exit, _, err := c.gitInside(ctx, i, nil, nil, nil, "git", "merge-base", "--is-ancestor", base, tip)
	if err != nil {
		return nil, "", err
	}
	if exit.Code != 0 {
		return nil, fmt.Sprintf("%s: a step rewrote the history it stood on; one commit is made from the files", rec.Resource.Name), nil
	}
	pack := filepath.Join(c.plan.Dir, "apply", "history-"+rec.ID+".pack")
	if err := c.packInside(ctx, i, rec.Base, tip, pack); err != nil {
		return nil, "", err
	}
	return &GitHistory{Pack: pack, Base: base, RealBase: rec.Base, Tip: tip}, "", nil
}

// reason is the message of the innermost error that f only wraps, without the
// names of what was being done on the way, and that error's own cause.
func reason(f *fault.Error) (string, error) {
	var inner *fault.Error
	for f.Message == "" && errors.As(f.Cause, &inner) {
		f = inner
	}
	return f.Message, f.Cause
}

// describe puts the resource's name on a target's error.
func (e *Engine) describe(p *Plan, rec SandboxRecord, err error) error {
	f := fault.As(err)
	if f.Code != fault.Conflict && f.Code != fault.IdentityChanged {
		return err
	}
	out := *f
	out.Op, out.Message = "apply", fmt.Sprintf("%s changed in ways that collide with plan %s; nothing was applied", rec.Resource.Path, p.ID)
	var why string
	if why, out.Cause = reason(f); why != "" {
		out.Message += ": " + why
	}
	if out.Hint == "" {
		out.Hint = fmt.Sprintf("`ambit apply %s --only GLOB` carries the rest; `ambit exec %s -- CMD` works on in the sandbox", p.ID, p.ID)
	}
	return &out
}

// journalled writes a decision to the journal, then what follows from it to the store.
func (e *Engine) journalled(ctx context.Context, p *Plan, line journalLine, kind journalKind) error {
	line.Kind, line.At = kind, e.deps.Now()
	if kind == journalPrepare { // states are not known yet
		line.Targets = append([]journalTarget(nil), line.Targets...)
	}
	if err := p.journal().append(line); err != nil {
		return err
	}
	after := context.WithoutCancel(ctx)
	return e.record(after, p, "apply."+string(kind), map[string]any{"apply": line.Apply})
}

func (e *Engine) setApply(p *Plan, id, status string) {
	for i := range p.Applies {
		if p.Applies[i].ID == id {
			p.Applies[i].Status = status
		}
	}
}

// abandon takes back what was staged; nothing real has changed.
func (e *Engine) abandon(ctx context.Context, p *Plan, line journalLine) error {
	ctx = context.WithoutCancel(ctx)
	for i := len(line.Targets) - 1; i >= 0; i-- {
		t, err := e.target(line.Targets[i].To)
		if err != nil {
			return err
		}
		if err := t.Abandon(ctx, line.Targets[i].Dir, line.Targets[i].State); err != nil {
			return err
		}
	}
	p.Status = line.Was
	e.setApply(p, line.Apply, applyAbandoned)
	line.Targets = nil
	return e.journalled(ctx, p, line, journalAbandon)
}

// rollForward carries out a decided apply, again if need be. When a target turns
// out to have changed since it was prepared, the decision is turned round by a
// second journal line, and everything goes back.
func (e *Engine) rollForward(ctx context.Context, p *Plan, line journalLine) error {
	for _, jt := range line.Targets {
		t, err := e.target(jt.To)
		if err != nil {
			return err
		}
		if err = t.Commit(ctx, jt.State); err == nil {
			err = t.Verify(ctx, jt.State)
		}
		if err != nil {
			if !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.IdentityChanged) {
				return fault.Wrap("", "apply", err).WithHint("the decision is recorded: `ambit recover %s` carries on", p.ID)
			}
			return errors.Join(e.describe(p, p.sandbox(jt.Sandbox), err), e.turnRound(ctx, p, line))
		}
	}
	e.setApply(p, line.Apply, applyCommitted)
	p.Status = PlanApplied
	if line.Rest > 0 {
		p.Status = line.Was // part of the plan is still to be decided
	}
	line.Targets = nil
	return e.journalled(ctx, p, line, journalDone)
}

// turnRound decides to go back, and goes back.
func (e *Engine) turnRound(ctx context.Context, p *Plan, line journalLine) error {
	e.setApply(p, line.Apply, applyUndoing)
	if err := e.journalled(ctx, p, line, journalUndo); err != nil {
		return err
	}
	return e.rollBack(ctx, p, line, line.Was)
}

// rollBack undoes every target, top-down, and leaves the plan with a status. A
// path that is neither old nor new is left alone and named; the plan then stays
// as it is until a person has decided, and recover tries again.
func (e *Engine) rollBack(ctx context.Context, p *Plan, line journalLine, status PlanStatus) error {
	var errs []error
	for i := len(line.Targets) - 1; i >= 0; i-- {
		jt := line.Targets[i]
		t, err := e.target(jt.To)
		if err != nil {
			return err
		}
		if err := t.Undo(ctx, jt.State); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	e.setApply(p, line.Apply, applyUndone)
	p.Status = status
	line.Targets = nil
	return e.journalled(ctx, p, line, journalUndone)
}

func (p *Plan) sandbox(id string) SandboxRecord {
	for _, s := range p.Sandboxes {
		if s.ID == id {
			return s
		}
	}
	return SandboxRecord{ID: id}
}
