package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/engine"
)

// afterRun says what came of a run, and applies if that was asked for.
func (d *deps) afterRun(ctx context.Context, svc engine.Service, p *engine.Plan, runErr error, o *runOptions, dir string) error {
	if p == nil {
		return runErr
	}
	out := runObject{Plan: p, Decision: "kept", Review: []reviewedSet{}}
	if runErr != nil {
		if !d.json && resumable(p.Status) {
			d.next(p)
		}
		return &withFields{runErr, out}
	}
	review, err := svc.Review(ctx, engine.ReviewRequest{Plan: p.ID, Dir: dir})
	if err != nil {
		return &withFields{err, out}
	}
	out.Changes, out.Review = changed(review), reviewed(review)
	failure := failedStep(p)
	if !d.json {
		fmt.Fprintf(d.stderr, "\n%s\n", stepCounts(p))
		if err := d.summary(d.stderr, review, 0); err != nil {
			return err
		}
	}
	switch {
	case failure != nil:
		if !d.json {
			if o.yes {
				fmt.Fprintln(d.stderr, "not applied, because a step failed")
			}
			d.next(p)
			fmt.Fprintln(d.stderr)
		}
		return &withFields{failure, out}
	case o.yes && changed(review) > 0:
		res, err := d.applyAfter(ctx, svc, p, review, o.to, nil, dir)
		if err != nil {
			return &withFields{err, out}
		}
		if res != nil {
			out.Plan, out.Applied, out.Decision = res.Plan, res.Applied, "applied"
		}
	}
	if d.json {
		return d.emit(out, exitDone)
	}
	switch {
	case out.Decision != "kept":
	case p.Status == engine.PlanReview && untouched(review):
		d.nothingToReview(p)
	default:
		d.next(p)
	}
	return nil
}

// nothingToReview ends a run that changed nothing: there is nothing to decide
// but whether what the steps said is still needed.
func (d *deps) nothingToReview(p *engine.Plan) {
	st := d.styleFor(d.stderr)
	fmt.Fprintf(d.stderr, "%s is done and changed nothing; there is nothing to review\n", st.bold(p.ID))
	d.commands([][2]string{
		{"ambit logs " + p.ID, "see what the last step said"},
		{"ambit discard " + p.ID, "drop it and its logs"},
	})
}

// next prints what can be done with a plan now.
func (d *deps) next(p *engine.Plan) {
	st := d.styleFor(d.stderr)
	tail := "; nothing of yours has changed"
	if reversible(p) {
		tail = "" // a part of it is applied
	}
	fmt.Fprintf(d.stderr, "%s %s%s\n", st.bold(p.ID), paintStatus(st, p.Status, stands(p.Status)), tail)
	d.commands(nextCommands(p))
}

// resumable reports whether a plan stands where a run leaves it, so that what can
// be done next answers an error. Any other is told by the error itself.
func resumable(s engine.PlanStatus) bool {
	return s == engine.PlanReady || s == engine.PlanReview || s == engine.PlanFailed || s == engine.PlanInterrupted
}

// stands says how a plan stands after a run, in words that follow its name.
func stands(s engine.PlanStatus) string {
	switch s {
	case engine.PlanReview:
		return "waits for your review"
	case engine.PlanFailed:
		return "failed"
	case engine.PlanInterrupted:
		return "was interrupted"
	default:
		return "is " + string(s)
	}
}

// failedStep is the first step that failed, as an error; nil if all ended well.
func failedStep(p *engine.Plan) error {
	for _, s := range p.Steps {
		if s.Status != engine.StepFailed {
			continue
		}
		e := &commandFailed{what: "step " + label(s.ID), hint: "ambit logs " + p.ID + "/" + label(s.ID) + " shows its output; ambit run --resume " + p.ID + " tries again"}
		if s.Exit != nil {
			e.exit = *s.Exit
		}
		e.why = visible(s.Message)
		return e
	}
	return nil
}

// stepCounts says how the steps ended: "5 steps: 3 done, 1 failed, 1 skipped".
// Groups run nothing and have no line of their own: they do not count.
func stepCounts(p *engine.Plan) string {
	counts, all := map[engine.StepStatus]int{}, 0
	for _, s := range p.Steps {
		if !s.Group {
			counts[s.Status]++
			all++
		}
	}
	var parts []string
	for _, s := range []engine.StepStatus{engine.StepDone, engine.StepFailed, engine.StepSkipped, engine.StepCanceled, engine.StepPending} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return plural(all, "step") + ": " + strings.Join(parts, ", ")
}
