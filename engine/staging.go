package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
)

// Between a plan's row and its own lock lies a moment in which it looks like one
// whose process has died. Whoever makes a plan holds the staging lock, shared,
// over that moment; whoever wants to clear dead ones away asks for it exclusively
// first.

func (e *Engine) openStaging() (*os.File, error) {
	if err := os.MkdirAll(e.plansDir(), 0o700); err != nil {
		return nil, folderFault("make plan", err)
	}
	f, err := os.OpenFile(filepath.Join(e.cfg.StateDir, "staging.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, folderFault("make plan", err)
	}
	return f, nil
}

// beginPlan makes a plan and takes it for this process.
func (e *Engine) beginPlan(ctx context.Context, kind, name, title, cwd string, opts PlanOptions) (*Plan, *planLock, error) {
	f, err := e.openStaging()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // gives the staging lock back
	if err := lockShared(f); err != nil {
		return nil, nil, fault.Wrap(fault.Internal, "make plan", err)
	}
	e.setAside()
	p, err := e.newPlan(ctx, kind, name, title, cwd, opts)
	if err != nil {
		return nil, nil, err
	}
	lock, err := e.lockPlan(ctx, p.ID, p.Dir, kind)
	return p, lock, err
}

// beingMade reports whether some process is making a plan right now.
func (e *Engine) beingMade() (bool, error) {
	f, err := e.openStaging()
	if err != nil {
		return false, err
	}
	ok, err := tryLock(f)
	return !ok, errors.Join(err, f.Close())
}

// deadStaging lists the plans among ps whose making was cut off. None while any
// plan is being made: a later call finds them.
func (e *Engine) deadStaging(ctx context.Context) (map[string]bool, error) {
	f, err := e.openStaging()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if ok, err := tryLock(f); err != nil || !ok {
		return nil, err
	}
	ps, err := e.deps.Store.FindPlans(ctx, PlanQuery{Status: []PlanStatus{PlanStaging}})
	if err != nil {
		return nil, err
	}
	dead := map[string]bool{}
	for _, p := range ps {
		dead[p.ID] = !e.held(p.Dir)
	}
	return dead, nil
}
