package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/config"
	"github.com/ambit-run/ambit/ticket"
)

// fake answers a face's questions from fields: for parsing and rendering only.
// What ambit does is tested with the real engine, in the acceptance scripts.
type fake struct {
	plan    engine.Plan
	sets    []engine.ReviewSet
	rest    int
	exit    engine.Exit
	err     error // every call's answer, if set
	log     string
	updates []engine.Update
	doctor  engine.DoctorReport
	report  engine.RecoverReport

	calls []string
	try   engine.TryRequest
	stage engine.StageRequest
	run   engine.RunRequest
	apply engine.ApplyRequest
	exec  engine.ExecRequest
}

func (f *fake) did(call string) error {
	f.calls = append(f.calls, call)
	return f.err
}

func (f *fake) p() *engine.Plan { p := f.plan; return &p }

func (f *fake) Try(_ context.Context, req engine.TryRequest) (*engine.TryResult, error) {
	f.try = req
	return &engine.TryResult{Plan: f.p(), Exit: f.exit}, f.did("try")
}

func (f *fake) Stage(_ context.Context, req engine.StageRequest) (*engine.Plan, error) {
	f.stage = req
	return f.p(), f.did("stage")
}

func (f *fake) Preview(_ context.Context, req engine.StageRequest) (*engine.Preview, error) {
	f.stage = req
	p := f.p()
	p.Ticket = &engine.TicketRef{Dag: req.Dag}
	return &engine.Preview{Plan: p, Handoff: ticket.Handoff(req.Dag, nil, nil)}, f.did("preview")
}

func (f *fake) Run(_ context.Context, req engine.RunRequest) (*engine.RunResult, error) {
	f.run = req
	for _, u := range f.updates {
		if req.Observe != nil {
			req.Observe(u)
		}
	}
	return &engine.RunResult{Plan: f.p()}, f.did("run")
}

func (f *fake) Review(context.Context, engine.ReviewRequest) (*engine.Review, error) {
	r := &engine.Review{Plan: f.p(), Sets: f.sets, Rest: f.rest}
	for _, s := range f.sets {
		r.Blocking = append(r.Blocking, s.Set.Blocked()...)
	}
	return r, f.did("review")
}

func (f *fake) Apply(_ context.Context, req engine.ApplyRequest) (*engine.ApplyResult, error) {
	f.apply = req
	return &engine.ApplyResult{Plan: f.p(), Record: engine.ApplyRecord{ID: "a1", To: engine.ToWorktree}, Applied: 1, Rest: f.rest}, f.did("apply")
}

func (f *fake) Discard(context.Context, string) (*engine.Plan, error) { return f.p(), f.did("discard") }

func (f *fake) Restore(context.Context, string) (*engine.Plan, error) { return f.p(), f.did("restore") }

func (f *fake) Undo(context.Context, string) (*engine.Plan, error) { return f.p(), f.did("undo") }

func (f *fake) Recover(context.Context, string) (*engine.RecoverReport, error) {
	return &f.report, f.did("recover")
}

func (f *fake) Exec(_ context.Context, req engine.ExecRequest) (engine.Exit, error) {
	f.exec = req
	return f.exit, f.did("exec")
}

func (f *fake) Checkpoint(_ context.Context, _, name string) (*engine.Plan, error) {
	return f.p(), f.did("checkpoint " + name)
}

func (f *fake) RestoreCheckpoint(_ context.Context, _, name string) (*engine.Plan, error) {
	return f.p(), f.did("restore-checkpoint " + name)
}

func (f *fake) Resolve(_ context.Context, ref, _ string) (*engine.Plan, error) {
	if f.err != nil {
		return nil, f.err
	}
	if ref != "" && !strings.HasPrefix(f.plan.ID, ref) {
		return nil, fault.New(fault.NotFound, "find plan", "no plan is called %q", ref)
	}
	return f.p(), nil
}

func (f *fake) Plans(context.Context, engine.PlanQuery) ([]*engine.Plan, error) {
	return []*engine.Plan{f.p()}, f.did("plans")
}

func (f *fake) Log(context.Context, string, string) (io.ReadCloser, *engine.Step, error) {
	return io.NopCloser(strings.NewReader(f.log)), &engine.Step{ID: "n01-a", Status: engine.StepDone}, f.did("log")
}

func (f *fake) Live(context.Context, string) ([]engine.Entry, error)   { return nil, f.did("live") }
func (f *fake) Events(context.Context, string) ([]engine.Event, error) { return nil, f.did("events") }

func (f *fake) Doctor(context.Context, string) (*engine.DoctorReport, error) {
	return &f.doctor, f.did("doctor")
}

// noon is the moment at which tests take place.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// typed runs one command line against a fake, without a terminal.
type typed struct {
	code           int
	stdout, stderr string
}

func typeLine(t *testing.T, f *fake, args ...string) typed {
	t.Helper()
	dir := t.TempDir()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out, errs bytes.Buffer
	d := &deps{
		environ: []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "TERM=xterm", "SET=1"},
		getwd:   func() (string, error) { return dir, nil },
		stdin:   null, stdout: &out, stderr: &errs,
		now:   func() time.Time { return noon },
		roots: func(p []string) []string { return p },
		open: func(context.Context, config.Config) (engine.Service, func() error, error) {
			return f, func() error { return nil }, nil
		},
	}
	code := d.main(t.Context(), args)
	return typed{code, out.String(), errs.String()}
}

// somePlan is a plan in review with one changed file.
func somePlan() *fake {
	set := &changeset.Set{
		Resource: "api", Root: "/home/u/api", Type: engine.TypeFSDirectory,
		Changes: []changeset.Change{{
			Path: "main.go", Op: changeset.Modified, Added: 1, Removed: 1,
			Before: &changeset.Entry{Kind: changeset.File, Mode: 0o644, Size: 4, Hash: sum("old\n")},
			After:  &changeset.Entry{Kind: changeset.File, Mode: 0o644, Size: 4, Hash: sum("new\n")},
		}},
	}
	return &fake{
		plan: engine.Plan{
			ID: "try-k7m2q", Kind: "try", Title: "make fmt", Status: engine.PlanReview, CreatedAt: noon.Add(-90 * time.Second), Cwd: "/home/u/api",
			Sandboxes: []engine.SandboxRecord{{ID: "s1", Strategy: engine.StrategyOverlay, Resource: engine.Resource{Path: "/home/u/api"}}},
			Steps:     []engine.Step{{ID: "n01-a", Title: "first", Status: engine.StepDone}},
		},
		sets: []engine.ReviewSet{{Sandbox: "s1", Set: set, Source: textSource{"old\n", "new\n"}}},
	}
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// textSource has one text on each side of every path.
type textSource [2]string

func (s textSource) Open(side changeset.Side, _ string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s[side])), nil
}
