package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// target is a plan, and perhaps one of its steps, that an argument names.
type target struct {
	svc  engine.Service
	plan *engine.Plan
	step string // "" = the plan as a whole
	dir  string
}

// find resolves an argument: "" is the newest live plan that covers the current
// directory; else a plan by id or unique prefix, PLAN/STEP, or a step of that
// newest plan.
func (d *deps) find(ctx context.Context, ref string) (target, error) {
	dir, _, err := d.place()
	if err != nil {
		return target{}, err
	}
	svc, err := d.service(ctx)
	if err != nil {
		return target{}, err
	}
	t := target{svc: svc, dir: dir}
	name, step, _ := strings.Cut(ref, "/")
	if strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, ".") || strings.Count(ref, "/") > 1 {
		name, step = ref, "" // a path: the engine says that it is none of its names
	}
	t.plan, err = svc.Resolve(ctx, name, dir)
	if err == nil {
		t.step = stepID(t.plan, step)
		return t, nil
	}
	if name == "" || step != "" || !fault.Is(err, fault.NotFound) {
		return target{}, err
	}
	newest, newestErr := svc.Resolve(ctx, "", dir)
	if newestErr != nil {
		return target{}, err
	}
	id := stepID(newest, name)
	if id == name && !slices.ContainsFunc(newest.Steps, func(s engine.Step) bool { return s.ID == id }) {
		return target{}, err
	}
	t.plan, t.step = newest, id
	return t, nil
}

// stepID is the id of the step that a short name ("n01") means; a name that means
// none stays as it is, for the engine to refuse.
func stepID(p *engine.Plan, ref string) string {
	for _, s := range p.Steps {
		if ref != "" && strings.HasPrefix(s.ID, ref+"-") {
			return s.ID
		}
	}
	return ref
}

// findIn is find, but "" means the newest plan that covers the current directory
// and fits: for commands whose default is not a plan that waits.
func (d *deps) findIn(ctx context.Context, ref, what string, q engine.PlanQuery, fits func(*engine.Plan) bool) (target, error) {
	if ref != "" {
		return d.find(ctx, ref)
	}
	dir, _, err := d.place()
	if err != nil {
		return target{}, err
	}
	svc, err := d.service(ctx)
	if err != nil {
		return target{}, err
	}
	q.Covers = dir
	plans, err := svc.Plans(ctx, q)
	if err != nil {
		return target{}, err
	}
	for _, p := range plans {
		if fits(p) {
			return target{svc: svc, plan: p, dir: dir}, nil
		}
	}
	return target{}, fault.New(fault.NotFound, "find plan", "no %s plan covers %s", what, dir).
		WithHint("`ambit ps --all` lists every plan; name one")
}

// first is the first argument, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
