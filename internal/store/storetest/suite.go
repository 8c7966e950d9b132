package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Opener opens a handle on one place; every call gives another handle on the
// same data. The suite closes what it opens.
type Opener func(t *testing.T) engine.Store

// Run checks a store. fresh is called for each test and returns an Opener for a
// place that holds nothing yet.
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	for name, test := range map[string]func(*testing.T, Opener){
		"RoundTrip":                  roundTrip,
		"RoundTripEmpty":             roundTripEmpty,
		"O34_AnotherProcessSees":     anotherHandle,
		"CreateTwice":                createTwice,
		"UpdateVersions":             updateVersions,
		"UpdateReplacesLists":        updateLists,
		"UpdateIsAllOrNothing":       updateAtomic,
		"LostUpdates":                lostUpdates,
		"NotFound":                   missing,
		"FindNewestFirst":            findOrder,
		"FindByPrefixIsLiteral":      findPrefix,
		"O32_V1_CoversByComponent":   findCovers,
		"Delete":                     deletePlan,
		"LeaseConflictNamesHolder":   leaseConflict,
		"C122_LeaseOfRecycledPID":    leaseRecycled,
		"C6_LeaseOnlyTakenFromDead":  leaseDead,
		"LeaseRace":                  leaseRace,
		"LeasesByPrefix":             leasePrefix,
		"LeasesTogether":             leasesTogether,
		"LeasesTogetherRace":         leasesTogetherRace,
		"EventsInOrder":              events,
		"EventsFromSeveralHandles":   eventsRace,
		"CanceledContext":            canceled,
		"BadInput":                   badInput,
		"CloseTwice":                 closeTwice,
		"SnapshotsAreNotTornByWrite": snapshots,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

func open(t *testing.T, o Opener) engine.Store {
	t.Helper()
	s := o(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err error, code fault.Code, mentions ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("want code %s, got %s: %v", code, fault.CodeOf(err), err)
	}
	for _, m := range mentions {
		if !strings.Contains(err.Error(), m) {
			t.Errorf("%q does not mention %q", err, m)
		}
	}
}

func read(t *testing.T, s engine.Store, id string) *engine.Plan {
	t.Helper()
	p, err := s.Plan(t.Context(), id)
	must(t, err)
	return p
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)); d != "" {
		t.Fatalf("differs (-want +got):\n%s", d)
	}
}

func plan(id string, at time.Time, paths ...string) *engine.Plan {
	p := &engine.Plan{ID: id, Kind: "try", Status: engine.PlanReady, CreatedAt: at, UpdatedAt: at}
	for i, path := range paths {
		p.Sandboxes = append(p.Sandboxes, engine.SandboxRecord{
			ID: fmt.Sprintf("s%d", i+1), Plan: id, Resource: engine.Resource{Path: path},
		})
	}
	return p
}

var epoch = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func roundTrip(t *testing.T, o Opener) {
	s := open(t, o)
	p := fullPlan("full-1")
	must(t, s.CreatePlan(t.Context(), p))
	if p.Version != 1 {
		t.Fatalf("version %d after creation", p.Version)
	}
	same(t, read(t, s, p.ID), p)
	all, err := s.FindPlans(t.Context(), engine.PlanQuery{})
	must(t, err)
	same(t, all, []*engine.Plan{p})
}

func roundTripEmpty(t *testing.T, o Opener) {
	s := open(t, o)
	p := &engine.Plan{ID: "x"}
	must(t, s.CreatePlan(t.Context(), p))
	got := read(t, s, "x")
	same(t, got, p)
	if got.Steps == nil || got.Sandboxes == nil {
		t.Error("an empty list reads as null in JSON")
	}
	if !got.CreatedAt.IsZero() {
		t.Errorf("the zero time came back as %v", got.CreatedAt)
	}
}

func anotherHandle(t *testing.T, o Opener) {
	a, b := open(t, o), open(t, o)
	p := fullPlan("seen")
	must(t, a.CreatePlan(t.Context(), p))
	same(t, read(t, b, "seen"), p)
	p.Status = engine.PlanFailed
	must(t, b.UpdatePlan(t.Context(), p))
	same(t, read(t, a, "seen"), p)
	must(t, a.Close())
	same(t, read(t, open(t, o), "seen"), p)
}

func createTwice(t *testing.T, o Opener) {
	s := open(t, o)
	first := plan("twice", epoch, "/a")
	must(t, s.CreatePlan(t.Context(), first))
	want(t, s.CreatePlan(t.Context(), plan("twice", epoch, "/b")), fault.Exists, "twice")
	same(t, read(t, s, "twice"), first)
}

func updateVersions(t *testing.T, o Opener) {
	s := open(t, o)
	p := plan("v", epoch)
	must(t, s.CreatePlan(t.Context(), p))
	stale := *p
	p.Title = "second"
	must(t, s.UpdatePlan(t.Context(), p, engine.Event{Plan: "v", At: epoch, Kind: "with it"}))
	if p.Version != 2 {
		t.Fatalf("version %d after one update", p.Version)
	}
	stale.Title = "lost"
	want(t, s.UpdatePlan(t.Context(), &stale, engine.Event{Plan: "v", At: epoch, Kind: "lost"}), fault.Conflict, `"v"`)
	es, err := s.Events(t.Context(), "v", 0)
	must(t, err)
	same(t, es, []engine.Event{{Plan: "v", Seq: 1, At: epoch, Kind: "with it"}})
	if stale.Version != 1 {
		t.Errorf("a refused update moved the version to %d", stale.Version)
	}
	same(t, read(t, s, "v"), p)
	ahead := *p
	ahead.Version = 9
	want(t, s.UpdatePlan(t.Context(), &ahead), fault.Conflict)
	// What cannot be recorded is not done either.
	third := *p
	third.Title = "third"
	want(t, s.UpdatePlan(t.Context(), &third, engine.Event{Plan: "v", Kind: "bad", Data: json.RawMessage(`{`)}), fault.Invalid)
	want(t, s.UpdatePlan(t.Context(), &third, engine.Event{Plan: "nobody", Kind: "elsewhere"}), fault.NotFound)
	same(t, read(t, s, "v"), p)
}

func updateLists(t *testing.T, o Opener) {
	s := open(t, o)
	p := fullPlan("lists")
	must(t, s.CreatePlan(t.Context(), p))
	p.Steps = []engine.Step{{ID: "c", Status: engine.StepDone}, p.Steps[1], {ID: "a"}, p.Steps[0]}
	p.Sandboxes[0], p.Sandboxes[1] = p.Sandboxes[1], p.Sandboxes[0]
	p.Sandboxes[0].Status = engine.SandboxFailed
	p.Checkpoints = p.Checkpoints[:1]
	p.Applies = nil
	must(t, s.UpdatePlan(t.Context(), p))
	same(t, read(t, s, "lists"), p)
	p.Steps = nil
	p.Checkpoints = append(p.Checkpoints, engine.Checkpoint{Name: "hand:\xff", At: epoch})
	must(t, s.UpdatePlan(t.Context(), p))
	same(t, read(t, s, "lists"), p)
	must(t, s.UpdatePlan(t.Context(), p)) // nothing but the version
	same(t, read(t, s, "lists"), p)
}

func updateAtomic(t *testing.T, o Opener) {
	s := open(t, o)
	p := plan("atomic", epoch, "/a")
	must(t, s.CreatePlan(t.Context(), p))
	bad := *p
	bad.Title = "half"
	bad.Steps = []engine.Step{{ID: "a"}, {ID: "a"}}
	want(t, s.UpdatePlan(t.Context(), &bad), fault.Invalid, "a")
	same(t, read(t, s, "atomic"), p)
	bad.ID = "atomic2"
	want(t, s.CreatePlan(t.Context(), &bad), fault.Invalid)
	_, err := s.Plan(t.Context(), "atomic2")
	want(t, err, fault.NotFound)
}

// lostUpdates counts up one field from several handles; every conflict is
// retried, so the end must be the number of updates.
func lostUpdates(t *testing.T, o Opener) {
	const handles, each = 4, 10
	s := open(t, o)
	must(t, s.CreatePlan(t.Context(), &engine.Plan{ID: "count", Steps: []engine.Step{{ID: "n"}}}))
	var wg sync.WaitGroup
	for range handles {
		h := open(t, o)
		wg.Go(func() {
			for range each {
				if err := CountUp(t.Context(), h, "count"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	p := read(t, s, "count")
	if p.Steps[0].Runs != handles*each || p.Version != 1+handles*each {
		t.Fatalf("%d runs at version %d, want %d", p.Steps[0].Runs, p.Version, handles*each)
	}
}

func missing(t *testing.T, o Opener) {
	s := open(t, o)
	_, err := s.Plan(t.Context(), "nobody")
	want(t, err, fault.NotFound, "nobody")
	want(t, s.UpdatePlan(t.Context(), &engine.Plan{ID: "nobody"}), fault.NotFound, "nobody")
	want(t, s.DeletePlan(t.Context(), "nobody"), fault.NotFound, "nobody")
	want(t, s.AppendEvent(t.Context(), engine.Event{Plan: "nobody", Kind: "x"}), fault.NotFound, "nobody")
	es, err := s.Events(t.Context(), "nobody", 0)
	must(t, err)
	ls, err := s.Leases(t.Context(), "")
	must(t, err)
	ps, err := s.FindPlans(t.Context(), engine.PlanQuery{})
	must(t, err)
	if es == nil || ls == nil || ps == nil || len(es)+len(ls)+len(ps) != 0 {
		t.Fatalf("an empty store lists %v %v %v", es, ls, ps)
	}
}

func ids(t *testing.T, s engine.Store, q engine.PlanQuery) string {
	t.Helper()
	ps, err := s.FindPlans(t.Context(), q)
	must(t, err)
	var out []string
	for _, p := range ps {
		out = append(out, p.ID)
	}
	return strings.Join(out, " ")
}

func findOrder(t *testing.T, o Opener) {
	s := open(t, o)
	must(t, s.CreatePlan(t.Context(), plan("b", epoch.Add(1))))
	must(t, s.CreatePlan(t.Context(), plan("c", epoch)))
	must(t, s.CreatePlan(t.Context(), plan("a", epoch)))
	newest := plan("d", epoch.Add(time.Hour).In(time.FixedZone("", -7200)))
	newest.Status = engine.PlanFailed
	must(t, s.CreatePlan(t.Context(), newest))
	for _, c := range []struct {
		q    engine.PlanQuery
		want string
	}{
		{engine.PlanQuery{}, "d b a c"},
		{engine.PlanQuery{Limit: 2}, "d b"},
		{engine.PlanQuery{Status: []engine.PlanStatus{engine.PlanReady}}, "b a c"},
		{engine.PlanQuery{Status: []engine.PlanStatus{engine.PlanFailed, engine.PlanReady}, Limit: 1}, "d"},
		{engine.PlanQuery{Status: []engine.PlanStatus{engine.PlanUndone}}, ""},
		{engine.PlanQuery{Status: []engine.PlanStatus{engine.PlanFailed}, IDPrefix: "a"}, ""},
	} {
		if got := ids(t, s, c.q); got != c.want {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
}

func findPrefix(t *testing.T, o Opener) {
	s := open(t, o)
	for _, id := range []string{"fix-a", "fix-ab", "fix%", "Fix-a", "f_x", "é-1"} {
		must(t, s.CreatePlan(t.Context(), plan(id, epoch)))
	}
	for prefix, want := range map[string]string{
		"fix-a": "fix-a fix-ab", "fix%": "fix%", "f_": "f_x", "%": "", "F": "Fix-a", "é": "é-1", "fix-abc": "", "f*": "",
	} {
		if got := ids(t, s, engine.PlanQuery{IDPrefix: prefix}); got != want {
			t.Errorf("prefix %q: %q, want %q", prefix, got, want)
		}
	}
}

func findCovers(t *testing.T, o Opener) {
	s := open(t, o)
	for id, paths := range map[string][]string{
		"box": {"/tmp/sandbox"}, "evil": {"/tmp/sandbox-escape"}, "two": {"/srv/a", "/srv/b"},
		"deep": {"/tmp/sandbox/deep"}, "wild": {"/t%/x"}, "bytes": {"/d/\xff"}, "case": {"/Tmp/sandbox"},
	} {
		must(t, s.CreatePlan(t.Context(), plan(id, epoch, paths...)))
	}
	for path, want := range map[string]string{
		"/tmp/sandbox":               "box",
		"/tmp/sandbox/f":             "box",
		"/tmp/sandbox-escape":        "evil",
		"/tmp/sandbox-escape/f":      "evil",
		"/tmp/sandbox-":              "",
		"/tmp/sandbo":                "",
		"/tmp":                       "",
		"/":                          "",
		"/tmp/sandbox/deep/f":        "box deep",
		"/tmp/sandbox/deeper":        "box",
		"/srv/b/c":                   "two",
		"/srv":                       "",
		"/tmp/x":                     "",
		"/d/\xff/f":                  "bytes",
		"/d/\ufffd/f":                "",
		"/t%/x/y":                    "wild",
		"/tmp/sandbox/..sandbox/f":   "box",
		"/tmp/sandbox\n-escape/file": "",
	} {
		if got := ids(t, s, engine.PlanQuery{Covers: path}); got != want {
			t.Errorf("covers %q: %q, want %q", path, got, want)
		}
	}
	must(t, s.CreatePlan(t.Context(), plan("all", epoch, "/")))
	if got := ids(t, s, engine.PlanQuery{Covers: "/any/where"}); got != "all" {
		t.Errorf("the root covers nothing: %q", got)
	}
	if got := ids(t, s, engine.PlanQuery{Covers: "/tmp/sandbox", Status: []engine.PlanStatus{engine.PlanFailed}}); got != "" {
		t.Errorf("status is not looked at: %q", got)
	}
	for _, bad := range []string{"tmp", "/tmp/", "/tmp/../etc", "/tmp//x", "."} {
		_, err := s.FindPlans(t.Context(), engine.PlanQuery{Covers: bad})
		want := fault.Invalid
		if !fault.Is(err, want) {
			t.Errorf("covers %q: %v", bad, err)
		}
	}
}

func deletePlan(t *testing.T, o Opener) {
	s := open(t, o)
	p, other := fullPlan("gone"), plan("stays", epoch, "/a")
	must(t, s.CreatePlan(t.Context(), p))
	must(t, s.CreatePlan(t.Context(), other))
	must(t, s.AppendEvent(t.Context(), engine.Event{Plan: "gone", Kind: "x"}))
	must(t, s.AppendEvent(t.Context(), engine.Event{Plan: "stays", Kind: "y"}))
	must(t, s.DeletePlan(t.Context(), "gone"))
	_, err := s.Plan(t.Context(), "gone")
	want(t, err, fault.NotFound)
	es, err := s.Events(t.Context(), "gone", 0)
	must(t, err)
	if len(es) != 0 {
		t.Errorf("events outlive their plan: %v", es)
	}
	same(t, read(t, s, "stays"), other)
	es, err = s.Events(t.Context(), "stays", 0)
	must(t, err)
	if len(es) != 1 {
		t.Errorf("another plan's events went along: %v", es)
	}
	// The id is free again, with nothing of the old one.
	again := plan("gone", epoch)
	must(t, s.CreatePlan(t.Context(), again))
	same(t, read(t, s, "gone"), again)
}

func events(t *testing.T, o Opener) {
	s := open(t, o)
	must(t, s.CreatePlan(t.Context(), plan("e", epoch)))
	must(t, s.CreatePlan(t.Context(), plan("f", epoch)))
	first := engine.Event{Plan: "e", At: epoch.Add(7), Kind: "step.started", Data: json.RawMessage(`{"step":"n1","x":[1, 2]}`), Seq: 99}
	must(t, s.AppendEvent(t.Context(), first))
	must(t, s.AppendEvent(t.Context(), engine.Event{Plan: "f", Kind: "other"}))
	must(t, s.AppendEvent(t.Context(), engine.Event{Plan: "e", Kind: "bare"}))
	es, err := s.Events(t.Context(), "e", 0)
	must(t, err)
	first.Seq = 1
	same(t, es, []engine.Event{first, {Plan: "e", Seq: 2, Kind: "bare"}})
	es, err = s.Events(t.Context(), "e", 1)
	must(t, err)
	if len(es) != 1 || es[0].Kind != "bare" {
		t.Errorf("after 1: %v", es)
	}
	want(t, s.AppendEvent(t.Context(), engine.Event{Plan: "e", Kind: "bad", Data: json.RawMessage(`{`)}), fault.Invalid)
}

func eventsRace(t *testing.T, o Opener) {
	const handles, each = 4, 10
	s := open(t, o)
	must(t, s.CreatePlan(t.Context(), plan("e", epoch)))
	var wg sync.WaitGroup
	for range handles {
		h := open(t, o)
		wg.Go(func() {
			for range each {
				if err := h.AppendEvent(t.Context(), engine.Event{Plan: "e", Kind: "k"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	es, err := s.Events(t.Context(), "e", 0)
	must(t, err)
	for i, e := range es {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has the number %d", i+1, e.Seq)
		}
	}
	if len(es) != handles*each {
		t.Fatalf("%d events, want %d", len(es), handles*each)
	}
}

func canceled(t *testing.T, o Opener) {
	s := open(t, o)
	p := plan("c", epoch)
	must(t, s.CreatePlan(t.Context(), p))
	ctx, cancel := contextDone(t)
	defer cancel(nil)
	for name, err := range map[string]error{
		"update": s.UpdatePlan(ctx, p),
		"create": s.CreatePlan(ctx, plan("d", epoch)),
		"event":  s.AppendEvent(ctx, engine.Event{Plan: "c"}),
		"lease":  s.AcquireLease(ctx, lease("k", 1), nil),
	} {
		if !fault.Is(err, fault.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
	same(t, read(t, s, "c"), p)
}

func badInput(t *testing.T, o Opener) {
	s := open(t, o)
	want(t, s.CreatePlan(t.Context(), &engine.Plan{}), fault.Invalid)
	want(t, s.CreatePlan(t.Context(), &engine.Plan{ID: "x", CreatedAt: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}), fault.Invalid)
	foreign := plan("x", epoch, "/a")
	foreign.Sandboxes[0].Plan = "y"
	want(t, s.CreatePlan(t.Context(), foreign), fault.Invalid, "y")
	want(t, s.AcquireLease(t.Context(), engine.Lease{Key: "k"}, nil), fault.Invalid)
	want(t, s.AcquireLease(t.Context(), engine.Lease{PID: 1, Start: "1", BootID: "b"}, nil), fault.Invalid)
}

func closeTwice(t *testing.T, o Opener) {
	s := open(t, o)
	must(t, s.Close())
	must(t, s.Close())
	if err := s.CreatePlan(t.Context(), plan("x", epoch)); err == nil {
		t.Error("a closed store stored a plan")
	}
}

// snapshots reads a plan over and over while it is rewritten as a whole: steps
// and status must always be of one version.
func snapshots(t *testing.T, o Opener) {
	s, w := open(t, o), open(t, o)
	p := &engine.Plan{ID: "torn", Title: "0", Steps: []engine.Step{{ID: "a", Title: "0"}, {ID: "b", Title: "0"}}}
	must(t, s.CreatePlan(t.Context(), p))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range 50 {
			p.Title = fmt.Sprint(i)
			p.Steps[0].Title, p.Steps[1].Title = p.Title, p.Title
			if err := w.UpdatePlan(t.Context(), p); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		got := read(t, s, "torn")
		if got.Title != got.Steps[0].Title || got.Title != got.Steps[1].Title {
			t.Fatalf("torn: %q %q %q", got.Title, got.Steps[0].Title, got.Steps[1].Title)
		}
	}
	wg.Wait()
}
