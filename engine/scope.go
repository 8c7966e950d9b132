package engine

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// ScopeMode is what happens where another running plan works on what a ticket
// works on, too.
type ScopeMode string

// Ways to meet a held scope.
const (
	ScopeConflict ScopeMode = ""      // a conflict that names the holder
	ScopeWait     ScopeMode = "wait"  // wait until the other has run
	ScopeShare    ScopeMode = "share" // go on: sandboxes keep the two apart, an apply meets conflicts
)

// scopePrefix begins the key of a lease on a scope; plan and path follow.
const scopePrefix = "scope:"

func scopeKey(plan, path string) string { return scopePrefix + plan + ":" + path }

// scopePath is the path of a lease's key, "" if the lease is on something else.
func scopePath(l Lease) string {
	rest, ok := strings.CutPrefix(l.Key, scopePrefix+l.Plan+":")
	if !ok {
		return ""
	}
	return rest
}

// scopePaths resolves the keys of a ticket's scope: the name of a resource is the
// whole of it; a path is one of the first resource, or absolute. Of a pattern the
// part before its first wildcard counts. Links are followed as far as the path
// exists, so that two spellings of one place meet; what comes behind may be what the
// ticket is going to make.
func scopePaths(keys []string, rs []Resource) []string {
	var out []string
	for _, k := range keys {
		p := resolveScope(k, rs)
		if p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func resolveScope(key string, rs []Resource) string {
	if key = strings.TrimSpace(key); key == "" || len(rs) == 0 {
		return ""
	}
	for _, r := range rs {
		if key == r.Name {
			return r.Path
		}
	}
	if i := strings.IndexAny(key, "*?[{"); i >= 0 {
		key = key[:strings.LastIndexByte(key[:i], '/')+1]
	}
	if !filepath.IsAbs(key) {
		key = filepath.Join(rs[0].Path, key)
	}
	return realPrefix(filepath.Clean(key))
}

// realPrefix follows links in the part of a clean absolute path that exists.
func realPrefix(path string) string {
	for head, tail := path, ""; ; head, tail = filepath.Dir(head), filepath.Join(filepath.Base(head), tail) {
		if real, err := filepath.EvalSymlinks(head); err == nil {
			return filepath.Join(real, tail)
		}
		if head == filepath.Dir(head) {
			return path
		}
	}
}

// claimScope takes the plan's scope for this process, which keeps it until the
// plan has run (releaseScope) or the process is gone: a lease never dies of age.
// It returns whether it had to wait.
func (e *Engine) claimScope(ctx context.Context, p *Plan, mode ScopeMode, obs Observer) (waited bool, err error) {
	if len(p.Scope) == 0 {
		return false, nil
	}
	var mine []Lease
	for _, path := range p.Scope {
		l := e.deps.Self
		l.Key, l.Plan, l.Since = scopeKey(p.ID, path), p.ID, e.deps.Now()
		mine = append(mine, l)
	}
	for {
		var in *scopeClash
		err := e.deps.Store.AcquireLeases(ctx, mine, e.deps.Alive, func(held Lease) error {
			if c := clash(p, held); c != nil && mode != ScopeShare {
				in = c
				return c.fault()
			}
			return nil
		})
		if in == nil || mode != ScopeWait {
			return waited, err
		}
		if !waited {
			waited = true
			e.notice(obs, p, "waits: %s", in)
		}
		tick := time.NewTimer(scopePoll)
		select {
		case <-ctx.Done():
			tick.Stop()
			return waited, canceled(context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// scopePoll is how often a waiting plan looks again. Somebody else's process
// tells nobody when it ends.
const scopePoll = 200 * time.Millisecond

// scopeHeld says, without taking anything, which living plan stands in the way.
func (e *Engine) scopeHeld(ctx context.Context, p *Plan) error {
	if len(p.Scope) == 0 {
		return nil
	}
	held, err := e.deps.Store.Leases(ctx, scopePrefix)
	if err != nil {
		return err
	}
	for _, l := range held {
		if c := clash(p, l); c != nil && e.deps.Alive(l) {
			return c.fault()
		}
	}
	return nil
}

// releaseScope gives back what this process holds of the plan's scope.
func (e *Engine) releaseScope(ctx context.Context, p *Plan) error {
	for _, path := range p.Scope {
		l := e.deps.Self
		l.Key, l.Plan = scopeKey(p.ID, path), p.ID
		// Another process may run the plan by now: its lease is its own.
		if err := e.deps.Store.ReleaseLease(context.WithoutCancel(ctx), l); err != nil && !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return nil
}

// scopeClash is a lease of another plan on what a plan works on.
type scopeClash struct {
	held         Lease
	ours, theirs string
}

func clash(p *Plan, held Lease) *scopeClash {
	theirs := scopePath(held)
	if theirs == "" || held.Plan == p.ID {
		return nil
	}
	for _, ours := range p.Scope {
		if within(ours, theirs) || within(theirs, ours) {
			return &scopeClash{held: held, ours: ours, theirs: theirs}
		}
	}
	return nil
}

func (c *scopeClash) String() string {
	what := c.theirs
	if c.ours != c.theirs {
		what += ", and this ticket on " + c.ours
	}
	return "plan " + c.held.Plan + " works on " + what
}

func (c *scopeClash) fault() error {
	return fault.New(fault.Conflict, "stage", "%s (process %d, since %s)", c, c.held.PID, c.held.Since.Local().Format("15:04:05")).
		WithPaths(c.theirs).
		WithHint("--wait waits until it has run; --share goes on, and an apply meets what both changed as conflicts")
}
