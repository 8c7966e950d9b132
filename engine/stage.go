package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// discover turns the paths a person named into resources, one per boundary: two
// paths in one checkout are one resource; a resource inside another is refused,
// because their sandboxes would show each other's files.
func (e *Engine) discover(ctx context.Context, dir, spelled string, paths []string) ([]Resource, error) {
	if len(paths) == 0 {
		paths = []string{dir}
	}
	var out []Resource
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		r, err := e.deps.Discoverer.Discover(ctx, p)
		if err != nil {
			return nil, err
		}
		if p == dir && spelled != "" && spelled != dir {
			if tail, ok := strings.CutPrefix(dir, r.Path); ok && strings.HasSuffix(spelled, tail) {
				if s := strings.TrimSuffix(spelled, tail); s != r.Path && filepath.IsAbs(s) {
					r.Spelled = s
				}
			}
		}
		known := false
		for _, o := range out {
			switch {
			case o.Path == r.Path:
				known = true
			case within(o.Path, r.Path), within(r.Path, o.Path):
				return nil, fault.New(fault.Unsupported, "find resources", "%s and %s lie inside one another", o.Path, r.Path).
					WithHint("name only one of them, or run two plans")
			}
		}
		if !known {
			out = append(out, r)
		}
	}
	for _, r := range out {
		if err := e.admit(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// admit refuses resources that must never be isolated here.
func (e *Engine) admit(r Resource) error {
	if r.Path == "/" {
		return fault.New(fault.Denied, "find resources", "the whole file system is no resource").WithHint("go to a project folder first")
	}
	if within(r.Path, e.cfg.StateDir) {
		return fault.New(fault.Denied, "find resources", "%s holds ambit's own state (%s), and a sandbox must never lie inside what it isolates", r.Path, e.cfg.StateDir).
			WithHint("go to a folder below it, or point AMBIT_HOME at a folder outside")
	}
	if within(e.cfg.StateDir, r.Path) {
		return fault.New(fault.Denied, "find resources", "%s lies inside ambit's own state", r.Path)
	}
	return nil
}

// within reports whether path equals base or lies below it, by components.
func within(base, path string) bool {
	if base == path {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}

// checkOwner refuses root over somebody else's tree: root inside reads root's
// own files and leaves files that the owner cannot remove. Who asks for it all the
// same is told what it comes to: a confined root is only a user with the number 0.
func (e *Engine) checkOwner(p *Plan, r Resource, obs Observer) error {
	if e.cfg.UID != 0 || p.Options.AsRoot && p.Rung == RungNone {
		return nil
	}
	d, err := fsop.OpenRoot(r.Path)
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := d.Stat(".")
	if err != nil {
		return err
	}
	const asOwner = "run ambit as that user: sudo -u '#%d' ambit …"
	switch {
	case info.UID == 0:
		return nil
	case !p.Options.AsRoot:
		return fault.New(fault.Denied, "stage", "you are root, and %s belongs to user %d", r.Path, info.UID).
			WithHint(asOwner+"; --as-root is for trees that others may write", info.UID)
	case info.Mode&0o002 == 0 && (info.GID != 0 || info.Mode&0o020 == 0):
		return fault.New(fault.Denied, "stage", "%s belongs to user %d and is closed to others, and inside root has none of root's privileges: commands could not write there", r.Path, info.UID).
			WithHint(asOwner, info.UID)
	}
	e.notice(obs, p, "%s: commands run as root without root's privileges: what belongs to user %d and is closed to others they cannot write", r.Name, info.UID)
	return nil
}

// stage makes the sandboxes of a plan, top-down, each written to the store
// before it is created. That it is made is confirmed with whatever is written
// next: the next sandbox, or the status that the caller gives the plan.
func (e *Engine) stage(ctx context.Context, p *Plan, rs []Resource, obs Observer) error {
	if err := checkOptions(p.Options); err != nil {
		return err
	}
	conf, why, err := e.chooseRung(ctx, p.Options.Confine)
	if err != nil {
		return err
	}
	p.Rung, p.RungWhy = conf.Rung(), why
	if b, ok := conf.(Beginner); ok && p.Kind == "try" { // a try's command comes at once
		b.Begin(CageSpec{Plan: p.ID, PlanDir: p.Dir, Network: p.Options.Network, Idle: e.cfg.Idle})
	}
	if p.Rung == RungNone {
		e.notice(obs, p, "confinement: none, because you asked for it: commands run with all your rights")
	} else if p.Rung != RungNative {
		e.notice(obs, p, "confinement: %s (%s)", p.Rung, why)
	}
	for i, r := range rs {
		if err := e.checkOwner(p, r, obs); err != nil {
			return err
		}
		req := e.createRequest(p, i, r)
		req.Progress = func(pr Progress) {
			obs.send(Update{Kind: UpdateProgress, At: e.deps.Now(), Progress: &pr})
		}
		if !r.committed() && (req.Dirty == DirtyHide || req.Dirty == DirtyRefuse) {
			e.notice(obs, p, "%s: dirty = %s has no meaning here, where nothing is committed: commands see all that is there", r.Name, req.Dirty)
		}
		if err := os.MkdirAll(req.Dir, 0o700); err != nil {
			return folderFault("stage", err)
		}
		strat, reason, err := e.chooseStrategy(ctx, p.Options.Strategy, &req)
		if err != nil {
			return err
		}
		rec := SandboxRecord{
			ID: req.ID, Plan: p.ID, Resource: r, Strategy: strat.Name(), Reason: reason,
			Lower: req.Lower, Dirty: req.Dirty, Confined: req.Confined,
			Status: SandboxCreating, Dir: req.Dir, BasesDir: req.BasesDir,
		}
		p.Sandboxes = append(p.Sandboxes, rec)
		if err := e.save(ctx, p); err != nil {
			return err
		}
		sb, err := strat.Create(ctx, req)
		if err != nil {
			p.Sandboxes[i].Status = SandboxFailed
			return errors.Join(err, e.save(context.WithoutCancel(ctx), p))
		}
		info := sb.Info()
		rec.Base, rec.ChainBase, rec.Notices, rec.Timings, rec.Status = info.Base, info.ChainBase, info.Notices, info.Timings, SandboxReady
		if info.Lower != "" {
			rec.Lower = info.Lower
		}
		p.Sandboxes[i] = rec
		if strat.Name() != StrategyOverlay && (p.Options.Strategy == "" || p.Options.Strategy == StrategyAuto) {
			e.notice(obs, p, "%s: %s (%s)", r.Name, strat.Name(), reason)
		}
		for _, n := range rec.Notices {
			e.notice(obs, p, "%s: %s", r.Name, n)
		}
	}
	return nil
}

// createRequest is what the i-th sandbox of a plan is made from.
func (e *Engine) createRequest(p *Plan, i int, r Resource) CreateRequest {
	id := fmt.Sprintf("s%d", i+1)
	req := CreateRequest{
		Plan: p.ID, ID: id, Dir: filepath.Join(p.Dir, "sandboxes", id), BasesDir: e.basesDir(),
		Resource: r, Lower: p.Options.Lower, Dirty: p.Options.Dirty, Include: p.Options.Include,
		Confined: p.Rung == RungNative, Now: e.deps.Now(),
	}
	if !r.committed() {
		req.Lower = LowerLive // there is no commit to freeze
	}
	if req.Dirty == "" {
		req.Dirty = DirtyCarry
	}
	return req
}

// committed reports whether a resource has a commit to stand on.
func (r Resource) committed() bool { return r.Git != nil && r.Git.Head != "" }

// checkOptions refuses what would silently do nothing.
func checkOptions(o PlanOptions) error {
	for _, g := range o.Include {
		if !doublestar.ValidatePattern(g) {
			return fault.New(fault.Invalid, "stage", "--include %q is not a valid pattern", g).WithHint("for example --include '.env*'")
		}
	}
	for _, path := range o.ReadWrite {
		if _, err := os.Stat(path); err != nil {
			return fault.New(fault.CodeOf(folderFault("stage", err)), "stage", "--rw %s cannot be used", path).WithCause(err).WithHint("name a path that exists")
		}
	}
	return nil
}

// unstage removes a plan that never came to run anything. What cannot be
// removed stays, owned by the plan's row, and is named.
func (e *Engine) unstage(ctx context.Context, p *Plan) error {
	ctx = context.WithoutCancel(ctx)
	if p.Rung != "" { // nothing may run in what is removed
		conf, err := e.confiner(p.Rung)
		if err == nil {
			err = conf.Close(ctx, CageSpec{Plan: p.ID, PlanDir: p.Dir}, true)
		}
		if err != nil {
			return err
		}
	}
	for i := len(p.Sandboxes) - 1; i >= 0; i-- {
		rec := p.Sandboxes[i]
		sb, err := e.attach(ctx, rec)
		if err != nil {
			// Half made: creating is idempotent, so finish it, then remove it. One
			// that cannot be finished lies in the plan's folder alone, except for what
			// git_worktree registers: that keeps its row, which is how it is found again.
			if sb, err = e.recreate(ctx, p, rec); err != nil {
				if rec.Strategy == StrategyGitWorktree {
					return err
				}
				continue
			}
		}
		if err := sb.Destroy(ctx, true); err != nil {
			return err
		}
	}
	if err := e.removePlanFolder(p.Dir); err != nil {
		return err
	}
	return e.deps.Store.DeletePlan(ctx, p.ID)
}

func (e *Engine) recreate(ctx context.Context, p *Plan, rec SandboxRecord) (Sandbox, error) {
	s, err := e.strategy(rec.Strategy)
	if err != nil {
		return nil, err
	}
	return s.Create(ctx, CreateRequest{
		Plan: p.ID, ID: rec.ID, Dir: rec.Dir, BasesDir: rec.BasesDir, Resource: rec.Resource,
		Lower: rec.Lower, Dirty: rec.Dirty, Include: p.Options.Include, Confined: rec.Confined, Now: e.deps.Now(),
	})
}

// removePlanFolder removes a folder below plans/ or trash/ by held descriptors:
// what lies in it was written by sandboxed commands.
func (e *Engine) removePlanFolder(dir string) error {
	parent, err := fsop.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.RemoveAll(filepath.Base(dir))
}
