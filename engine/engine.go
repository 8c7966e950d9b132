package engine

import (
	"context"
	"encoding/base32"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// Config is where an Engine keeps things and for whom it works.
type Config struct {
	// StateDir is $AMBIT_HOME: absolute, canonical, mode 0700. Required.
	StateDir string
	// HomeDir is the person's home. Required.
	HomeDir string
	// Environ is the person's environment, for what ambit itself runs inside: git,
	// where $PATH finds it. Requests bring their own for commands.
	Environ []string
	// UID is the effective user id of the process.
	UID int
	// StepTimeout bounds a step that names none. Zero means 60 minutes.
	StepTimeout time.Duration
	// Idle is how long a holder stays without an entry. Zero means 10 minutes.
	Idle time.Duration
	// TrashAge is how long a discarded plan can be restored. Zero means 30 days.
	TrashAge time.Duration
	// TrashBytes is how much all discarded plans may hold, in bytes, before the
	// oldest go. Zero means 10 GiB; Unlimited is no limit.
	TrashBytes int64
	// Version names this build; a cached proof of another build does not count.
	Version string
}

// Deps are the technologies and sources of chance an Engine works with.
type Deps struct {
	Store      Store
	Discoverer Discoverer
	Strategies []Strategy // in the order auto tries them
	Confiners  []Confiner // in the order auto tries them; RungNone is never tried
	Targets    []Target
	// Self is this process as a lease holder; Key, Plan and Since are empty.
	Self Lease
	// Alive says whether the process behind a lease still lives.
	Alive func(Lease) bool
	Now   func() time.Time
	Rand  io.Reader
	// Author returns the person's git identity for a checkout as "Name <email>"; "" if unknown.
	Author func(ctx context.Context, r Resource) string
	// Refs returns what the references of a checkout's real repository hold, by full
	// name; nil = it is not known.
	Refs func(ctx context.Context, r Resource) (map[string]string, error)
	// Programs returns the versions of the programs doctor reports.
	Programs func(ctx context.Context) map[string]string
	// Facts returns what doctor reports about the machine.
	Facts func(ctx context.Context, stateDir string) map[string]string
}

// Engine runs plans. Make one with New; see Service for its methods.
type Engine struct {
	cfg  Config
	deps Deps
}

var _ Service = (*Engine)(nil)

// New returns an Engine. It fails with code invalid when a required field is missing.
func New(cfg Config, deps Deps) (*Engine, error) {
	if !filepath.IsAbs(cfg.StateDir) || !filepath.IsAbs(cfg.HomeDir) {
		return nil, fault.New(fault.Invalid, "start", "the state folder and the home folder must be absolute paths (%q, %q)", cfg.StateDir, cfg.HomeDir)
	}
	if deps.Store == nil || deps.Discoverer == nil || deps.Now == nil || deps.Rand == nil || deps.Alive == nil {
		return nil, fault.New(fault.Internal, "start", "a required dependency is missing")
	}
	if cfg.StepTimeout == 0 {
		cfg.StepTimeout = 60 * time.Minute
	}
	if cfg.Idle == 0 {
		cfg.Idle = 10 * time.Minute
	}
	if cfg.TrashAge == 0 {
		cfg.TrashAge = defaultTrashAge
	}
	if cfg.TrashBytes == 0 {
		cfg.TrashBytes = defaultTrashBytes
	}
	if deps.Author == nil {
		deps.Author = func(context.Context, Resource) string { return "" }
	}
	return &Engine{cfg: cfg, deps: deps}, nil
}

func (e *Engine) plansDir() string { return filepath.Join(e.cfg.StateDir, "plans") }
func (e *Engine) trashDir() string { return filepath.Join(e.cfg.StateDir, "trash") }
func (e *Engine) basesDir() string { return filepath.Join(e.cfg.StateDir, "bases") }

// newPlanID returns "<slug>-<5 random letters>": short enough to type, random
// enough that two processes never meet; the store and an exclusive mkdir decide.
func (e *Engine) newPlanID(name string) (string, error) {
	raw := make([]byte, 4)
	if _, err := io.ReadFull(e.deps.Rand, raw); err != nil {
		return "", fmt.Errorf("draw plan id: %w", err)
	}
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford: no i, l, o, u
	suffix := base32.NewEncoding(alphabet).WithPadding(base32.NoPadding).EncodeToString(raw)[:5]
	return slug(name, 24) + "-" + suffix, nil
}

// slug keeps lower-case ASCII letters and digits; every other run is one hyphen.
func slug(s string, limit int) string {
	var b strings.Builder
	hyphen := false
	for _, r := range strings.ToLower(s) {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			if hyphen && b.Len() > 0 {
				b.WriteByte('-')
			}
			hyphen = false
			b.WriteRune(r)
		} else {
			hyphen = true
		}
		if b.Len() >= limit {
			break
		}
	}
	if b.Len() == 0 {
		return "plan"
	}
	return b.String()
}

// newPlan writes a plan to the store, then makes its folder: a folder never
// exists without a row that owns it.
func (e *Engine) newPlan(ctx context.Context, kind, name, title, cwd string, opts PlanOptions) (*Plan, error) {
	for range 8 {
		id, err := e.newPlanID(name)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "make plan", err)
		}
		now := e.deps.Now()
		p := &Plan{
			ID: id, Kind: kind, Title: title, Status: PlanStaging, Cwd: cwd,
			CreatedAt: now, UpdatedAt: now, Options: opts,
			Dir: filepath.Join(e.plansDir(), id),
		}
		err = e.deps.Store.CreatePlan(ctx, p)
		if fault.Is(err, fault.Exists) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(e.plansDir(), 0o700); err != nil {
			return nil, folderFault("make plan", err)
		}
		if err := os.Mkdir(p.Dir, 0o700); err != nil {
			return nil, folderFault("make plan", err)
		}
		for _, sub := range []string{"sandboxes", "logs", "handoff", "steps", "apply"} {
			if err := os.Mkdir(filepath.Join(p.Dir, sub), 0o700); err != nil {
				return nil, folderFault("make plan", err)
			}
		}
		return p, nil
	}
	return nil, fault.New(fault.Internal, "make plan", "no free plan id after eight draws")
}

// save writes the plan back and stamps it.
func (e *Engine) save(ctx context.Context, p *Plan) error {
	p.UpdatedAt = e.deps.Now()
	return e.deps.Store.UpdatePlan(ctx, p)
}

// record is save together with one line of the plan's record, so that neither is
// there without the other. A record that cannot be written stops the work:
// evidence is not optional.
func (e *Engine) record(ctx context.Context, p *Plan, kind string, data any) error {
	raw, err := marshal(data)
	if err != nil {
		return fault.Wrap(fault.Internal, "record event", err)
	}
	p.UpdatedAt = e.deps.Now()
	return e.deps.Store.UpdatePlan(ctx, p, Event{Plan: p.ID, At: p.UpdatedAt, Kind: kind, Data: raw})
}

func (o Observer) send(u Update) {
	if o != nil {
		o(u)
	}
}

func (e *Engine) notice(o Observer, p *Plan, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.Notices = append(p.Notices, text)
	o.send(Update{Kind: UpdateNotice, At: e.deps.Now(), Text: text})
}
