package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// write makes a file in a folder of the test's own and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const okTicket = "# Fine\n\n- [ ] Do it\n\n  ```sh\n  echo ok\n  ```\n"

func TestRunUsage(t *testing.T) {
	t.Parallel()
	ok := write(t, "ok.md", okTicket)
	for _, tt := range []struct {
		line string
		code int
		want string
	}{
		{"run", 2, "no ticket to run"},
		{"run --jobs 2 " + ok, 7, "--jobs 2: this version runs steps one after another"},
		{"run --wait --share " + ok, 2, "--wait and --share exclude each other"},
		{"run --jobs 0 " + ok, 2, "at least one step"},
		{"run --jobs many " + ok, 2, "--jobs"},
		{"run " + ok + " make", 2, "an agent's command comes after --: ambit run " + ok + " -- make"},
		{"run --on-failure explode " + ok, 2, "use one of: stop, continue"},
		{"run --resume try-k7m2q " + ok, 2, "leave out"},
		{"run --resume try-k7m2q --home ro", 2, "leave out --home"},
		{"run --tty " + ok, 2, "--tty needs a terminal"},
		{"run no-such.md", 6, "there is no file no-such.md"},
		{"run " + os.DevNull, 3, "is not a regular file"},
		{"run " + t.TempDir(), 6, "holds no Markdown file"},
		{"run gh:acme/links", 2, "gh:OWNER/REPO#N"},
		{"run " + write(t, "cycle.md", "# C\n\n- [ ] T1 a (depends on T2)\n- [ ] T2 b (depends on T1)\n"), 5, "cycle"},
		{"run " + write(t, "lost.md", "# L\n\n- [ ] T1 a (depends on T9)\n"), 3, ":3:"},
		{"run " + write(t, "latin1.md", "# Caf\xe9\n"), 3, "UTF-8"},
	} {
		got := typeLine(t, somePlan(), strings.Fields(tt.line)...)
		if got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("ambit %s: exit %d, want %d\n%s", tt.line, got.code, tt.code, got.stderr)
		}
	}
}

func TestRunStagesAndRuns(t *testing.T) {
	t.Parallel()
	f := somePlan()
	f.updates = running(2, engine.StepDone)
	ok := write(t, "ok.md", okTicket)
	got := typeLine(t, f, "run", ok, "--on-failure", "continue", "--assume", "x", "--timeout", "5m", "--", "agent", "--flag", "{title}")
	if got.code != 0 || !slices.Equal(f.calls, []string{"stage", "run", "review"}) {
		t.Fatalf("%+v\n%v", got, f.calls)
	}
	s := f.stage
	if s.TicketPath != ok || string(s.TicketSrc) != okTicket || s.Ticket.ID != "ok" || len(s.Dag.Nodes) != 1 ||
		!slices.Equal(s.Agent, []string{"agent", "--flag", "{title}"}) || s.Options.OnFailure != "continue" ||
		!slices.Equal(s.Options.Assume, []string{"x"}) || s.Options.Timeout.Minutes() != 5 || f.run.Plan != "try-k7m2q" {
		t.Errorf("%+v", s)
	}
	for _, w := range []string{"▸ n01  first", "1 step: 1 done", "ambit apply try-k7m2q"} {
		if !strings.Contains(got.stderr, w) {
			t.Errorf("stderr lacks %q:\n%s", w, got.stderr)
		}
	}
	if got.stdout != "" {
		t.Errorf("stdout %q", got.stdout)
	}
}

func TestRunEnds(t *testing.T) {
	t.Parallel()
	ok := write(t, "ok.md", okTicket)
	failed := func(f *fake) {
		f.plan.Status = engine.PlanFailed
		f.plan.Kind = "run"
		f.plan.Steps = []engine.Step{{ID: "n01-a", Status: engine.StepFailed, Exit: &engine.Exit{Code: 3}}, {ID: "n02-b", Status: engine.StepSkipped, SkippedFor: "n01-a"}}
	}
	for _, tt := range []struct {
		name  string
		flags string
		edit  func(*fake)
		code  int
		calls string
		want  string
	}{
		{"review", "", func(*fake) {}, 0, "stage run review", "ambit diff try-k7m2q"},
		{"applied", "--yes", func(*fake) {}, 0, "stage run review apply", "applied 1 change"},
		{"failed", "", failed, 1, "stage run review", "step n01 ended with code 3"},
		{"failed is never applied", "--yes", failed, 1, "stage run review", "not applied, because a step failed"},
		{"took too long", "", func(f *fake) {
			failed(f)
			f.plan.Steps[0].Exit, f.plan.Steps[0].Message = nil, "took longer than 1h0m0s"
		}, 1, "stage run review", "step n01 failed: took longer than 1h0m0s"},
		{"nothing to apply", "--yes", func(f *fake) { f.sets[0].Set.Changes = nil }, 0, "stage run review", "nothing changed"},
		{"staging failed", "", func(f *fake) { f.err = fault.New(fault.Unsupported, "stage", "no user namespaces") }, 7, "stage", "no user namespaces"},
	} {
		f := somePlan()
		tt.edit(f)
		got := typeLine(t, f, append([]string{"run", ok}, strings.Fields(tt.flags)...)...)
		if got.code != tt.code || strings.Join(f.calls, " ") != tt.calls || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: exit %d, calls %v\n%s", tt.name, got.code, f.calls, got.stderr)
		}
	}
}

func TestFrontMatterOnlyRequests(t *testing.T) {
	t.Parallel()
	net := write(t, "net.md", "---\nnetwork: host\n---\n"+okTicket)
	res := write(t, "res.md", "---\nresources: [../other]\n---\n"+okTicket)
	other := filepath.Join(filepath.Dir(filepath.Dir(res)), "other")
	for _, tt := range []struct {
		name, line string
		code       int
		want       string
		check      func(*fake) bool
	}{
		{"network is not given", "run " + net, 4, "--network host grants it, --network none runs without", func(f *fake) bool { return len(f.calls) == 0 }},
		{"network refused by flag", "run --network none " + net, 0, "it gets none, as you said", func(f *fake) bool { return f.stage.Options.Network == "none" }},
		{"network granted by flag", "run --network host " + net, 0, "", func(f *fake) bool { return f.stage.Options.Network == "host" }},
		{"resources are not given", "run " + res, 4, "--resource " + other, func(f *fake) bool { return len(f.calls) == 0 }},
		{"resources refused by flag", "run --resource . " + res, 0, "it gets those you named", func(f *fake) bool { return len(f.stage.Resources) == 1 }},
		{"resources granted by flag", "run --resource . --resource " + other + " " + res, 0, "", func(f *fake) bool { return slices.Contains(f.stage.Resources, other) }},
	} {
		f := somePlan()
		got := typeLine(t, f, strings.Fields(tt.line)...)
		if got.code != tt.code || !strings.Contains(got.stderr, tt.want) || !tt.check(f) {
			t.Errorf("%s: exit %d, %+v\n%s", tt.name, got.code, f.stage.Resources, got.stderr)
		}
	}
}

func TestPrerequisitesBesideTheTicket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"first.md":  "# First\n\n- [x] a\n- [-] b\n",
		"second.md": "---\nid: two\n---\n# Second\n\n- [x] a\n",
		"third.md":  "# Third\n\n- [x] a\n- [ ] b\n",
		"main.md":   "---\ndepends_on: [first, two]\n---\n" + okTicket,
		"held.md":   "---\ndepends_on: [first, third]\n---\n" + okTicket,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := somePlan()
	if got := typeLine(t, f, "run", filepath.Join(dir, "main.md")); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if _, met := f.stage.Dag.Prerequisites(); !met {
		t.Error("finished tickets beside this one do not count")
	}
	f = somePlan()
	typeLine(t, f, "run", filepath.Join(dir, "held.md"))
	if _, met := f.stage.Dag.Prerequisites(); met {
		t.Error("an unfinished ticket counts")
	}
	f = somePlan()
	typeLine(t, f, "run", "--assume", "third", filepath.Join(dir, "held.md"))
	if _, met := f.stage.Dag.Prerequisites(); !met {
		t.Error("--assume does not count")
	}
}
