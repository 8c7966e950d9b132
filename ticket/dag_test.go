package ticket

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/canonjson"
)

// shortWaves renders waves as "n01 n02 | n03".
func shortWaves(d *Dag) string {
	var out []string
	for _, w := range d.Waves() {
		var ids []string
		for _, id := range w {
			ids = append(ids, short(d, id))
		}
		out = append(out, strings.Join(ids, " "))
	}
	return strings.Join(out, " | ")
}

// TestC112_DiamondInWaves: the end of a diamond comes after its longer side.
func TestC112_DiamondInWaves(t *testing.T) {
	t.Parallel()
	d := must(t, lines("- [ ] T1 end after T2, T4", "- [ ] T2 short after T5", "- [ ] T3 long after T5", "- [ ] T4 longer after T3", "- [ ] T5 top"), BuildOptions{})
	if got := shortWaves(d); got != "n05 | n02 n03 | n04 | n01" {
		t.Errorf("waves %s", got)
	}
}

// TestC113_OneDirection: an edge goes from the step that waits to what it waits
// for, however the ticket says it; "blocks" is never turned around by guessing.
func TestC113_OneDirection(t *testing.T) {
	t.Parallel()
	for _, clause := range []string{"depends on T1", "blocked by T1", "requires T1", "after T1", "⛔ T1"} {
		d := must(t, "- [ ] T1 first\n- [ ] T2 second "+clause+"\n", BuildOptions{})
		want := []Edge{{From: d.Nodes[1].ID, To: d.Nodes[0].ID, Why: "declared in line 2 as T1"}}
		if got := d.Edges(); !reflect.DeepEqual(got, want) || d.Nodes[0].Label != "T1" || shortWaves(d) != "n01 | n02" {
			t.Errorf("%s: edges %v, waves %s", clause, got, shortWaves(d))
		}
		// The other way round in the list, the same way round in the graph.
		d = must(t, "- [ ] T2 second "+clause+"\n- [ ] T1 first\n", BuildOptions{})
		want = []Edge{{From: d.Nodes[1].ID, To: d.Nodes[0].ID, Why: "declared in line 1 as T1"}}
		if got := d.Edges(); !reflect.DeepEqual(got, want) || d.Nodes[0].Label != "T1" {
			t.Errorf("%s, reversed: edges %v", clause, got)
		}
	}
	tk, ds := Parse("t.md", []byte("# t\n- [ ] T1 first blocks T2\n- [ ] T2 second\n"), Options{})
	d, _ := Build(tk, BuildOptions{})
	if len(d.Edges()) != 0 || len(ds) != 1 || ds[0].Summary != `"blocks T2" is not read as a dependency` || tk.Tasks[0].Title != "T1 first blocks T2" {
		t.Errorf("edges %v, findings:\n%s", d.Edges(), showFindings(ds))
	}
}

// TestC116_UnknownIDsStay: a dependency on something that is not there is kept,
// counted, and stops nothing.
func TestC116_UnknownIDsStay(t *testing.T) {
	t.Parallel()
	tk, ds := Parse("t.md", []byte("# t\n- [ ] a depends on M-1000, M-1001\n- [ ] b depends on n01\n"), Options{})
	d, more := Build(tk, BuildOptions{})
	if fault.HasErrors(append(ds, more...)) || !reflect.DeepEqual(d.Nodes[0].DependsOn, []string{"M-1000", "M-1001"}) {
		t.Fatalf("%s%s", showFindings(ds), show(d))
	}
	if len(d.Edges()) != 3 || shortWaves(d) != "n01 | n02" || d.NextNode() != d.Nodes[0].ID {
		t.Errorf("edges %v, waves %s", d.Edges(), shortWaves(d))
	}
}

// TestC114_OneReadiness: on random tickets, waves, ready, next node and a run
// step by step agree with each other and with the plain definition.
func TestC114_OneReadiness(t *testing.T) {
	t.Parallel()
	dags, drawn := 0, 0
	defer func() {
		if dags*10 < drawn || drawn == 0 {
			t.Errorf("only %d of %d random tickets had a DAG", dags, drawn)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		var b strings.Builder
		depth := 0
		for i := 1; i <= n; i++ {
			depth = rapid.IntRange(0, min(depth+1, 3)).Draw(t, "depth")
			if i == 1 {
				depth = 0
			}
			mark := rapid.SampledFrom([]string{" ", " ", " ", "x", "-", "~", "/"}).Draw(t, "mark")
			fmt.Fprintf(&b, "%s- [%s] T%d do", strings.Repeat("  ", depth), mark, i)
			limit := max(i-1, 1)
			if rapid.IntRange(0, 9).Draw(t, "forward") == 0 {
				limit = n // may make a cycle
			}
			if i > 1 {
				for _, dep := range rapid.SliceOfN(rapid.IntRange(1, limit), 0, 2).Draw(t, "deps") {
					fmt.Fprintf(&b, " after T%d", dep)
				}
			}
			b.WriteByte('\n')
		}
		tk, _ := Parse("t.md", []byte(b.String()), Options{})
		d, ds := Build(tk, BuildOptions{Sequential: rapid.Bool().Draw(t, "sequential")})
		drawn++
		if d == nil {
			if !fault.HasErrors(ds) {
				t.Fatal("no DAG and no error")
			}
			return
		}
		dags++
		checkReadiness(t, d)
	})
}

func checkReadiness(t *rapid.T, d *Dag) {
	status := map[string]Status{}
	at := func(id string) Status { return status[id] }
	for i := range d.Nodes {
		status[d.Nodes[i].ID] = d.Nodes[i].status()
	}
	definition := func() []string {
		ready := []string{}
		for i := range d.Nodes {
			n := &d.Nodes[i]
			ok := status[n.ID] == StatusWaiting
			for _, dep := range n.DependsOn {
				if d.Node(dep) != nil && status[dep] != StatusMet {
					ok = false
				}
			}
			if ok {
				ready = append(ready, n.ID)
			}
		}
		return ready
	}
	if got := d.Ready(nil); !slices.Equal(got, definition()) {
		t.Fatalf("ready %v, by definition %v", got, definition())
	}
	next := ""
	if ready := definition(); len(ready) > 0 {
		next = ready[0]
	}
	if d.NextNode() != next || (d.Manifest().NextNode == nil) != (next == "") {
		t.Fatalf("next node %q, first ready %q", d.NextNode(), next)
	}
	ran := 0
	for i, wave := range d.Waves() {
		ready := d.Ready(at)
		if !slices.Equal(wave, ready) || !slices.Equal(ready, definition()) {
			t.Fatalf("wave %d is %v, ready %v, by definition %v", i, wave, ready, definition())
		}
		for _, id := range wave {
			status[id] = StatusRunning
		}
		if left := d.Ready(at); len(left) != 0 {
			t.Fatalf("while wave %d runs, %v is ready", i, left)
		}
		for _, id := range wave {
			status[id] = StatusMet
			ran++
		}
	}
	if left := d.Ready(at); len(left) > 0 {
		t.Fatalf("after the last wave %v is ready", left)
	}
	held := d.Held()
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.status() == StatusWaiting && (status[n.ID] == StatusMet) == slices.Contains(held, n.ID) {
			t.Fatalf("%s: ran and held do not partition", n.ID)
		}
		if n.Order != i {
			t.Fatalf("%s: order %d at %d", n.ID, n.Order, i)
		}
		for _, dep := range n.DependsOn {
			if m := d.Node(dep); m != nil && m.Order >= i {
				t.Fatalf("%s depends on %s, which comes later", n.ID, dep)
			}
		}
	}
}

// A step that failed holds up what depends on it, and nothing else; what the
// ticket calls done or deferred stays so, whatever the caller says.
func TestReadyWithOutcomes(t *testing.T) {
	t.Parallel()
	d := must(t, lines("- [ ] T1 a", "- [ ] T2 b after T1", "- [ ] T3 c", "- [x] T4 d", "- [~] T5 e", "- [ ] T6 f after T5"), BuildOptions{})
	got := d.Ready(func(id string) Status {
		if strings.HasPrefix(id, "n01") {
			return StatusUnmet
		}
		return StatusWaiting
	})
	if len(got) != 1 || !strings.HasPrefix(got[0], "n03") {
		t.Errorf("ready %v", got)
	}
	got = d.Ready(func(string) Status { return StatusMet })
	if len(got) != 0 {
		t.Errorf("ready when all is met: %v", got)
	}
}

func TestPrerequisites(t *testing.T) {
	t.Parallel()
	src := "---\nid: M-2\ndepends_on: [M-1, M-0]\n---\n# t\n- [ ] a\n- [ ] b after n01\n"
	d := must(t, src, BuildOptions{})
	want := lines("M-2:prerequisites Satisfy ticket prerequisites <- M-1, M-0", "n01 a <- M-2:prerequisites", "n02 b <- M-2:prerequisites, n01")
	if show(d) != want || d.Nodes[0].Source != SourcePrerequisites {
		t.Errorf("got\n%swant\n%s", show(d), want)
	}
	if ids, met := d.Prerequisites(); met || !slices.Equal(ids, []string{"M-1", "M-0"}) {
		t.Errorf("prerequisites %v, met %v", ids, met)
	}
	if got := d.Ready(nil); !slices.Equal(got, []string{"M-2:prerequisites"}) || d.NextNode() != got[0] {
		t.Errorf("ready %v: work is ready while prerequisites are not met", got)
	}
	if d.Nodes[0].Runs() {
		t.Error("the prerequisites root would be executed")
	}
	half := must(t, src, BuildOptions{Assume: []string{"M-1"}})
	if _, met := half.Prerequisites(); met {
		t.Error("met with one of two")
	}
	d = must(t, src, BuildOptions{Assume: []string{"M-0", "M-1", "other"}})
	if _, met := d.Prerequisites(); !met || shortWaves(d) != "n01 | n02" {
		t.Errorf("assumed: met %v, waves %s", met, shortWaves(d))
	}
	d = must(t, "---\nid: M-2\ndepends_on: M-1\n---\nwords\n", BuildOptions{})
	if show(d) != lines("M-2:prerequisites Satisfy ticket prerequisites <- M-1", "M-2:single Execute the ticket objective as one step <- M-2:prerequisites") {
		t.Errorf("fallback:\n%s", show(d))
	}
	tk, _ := Parse("t.md", []byte("---\nid: M-2\ndepends_on: M-2\n---\n- [ ] a\n"), Options{})
	if d, ds := Build(tk, BuildOptions{}); d != nil || !fault.Is(AsError("", ds), fault.Conflict) {
		t.Errorf("a ticket that depends on itself: %v", ds)
	}
}

func TestCycles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, summary, detail, hint string }{
		{
			"two", "- [ ] T1 a after T2\n- [ ] T2 b after T1\n- [ ] T3 c after T1\n- [ ] T4 d\n",
			"dependency cycle detected in execution graph; unresolved nodes: n01-t1-a, n02-t2-b, n03-t3-c",
			"n01-t1-a (line 1) depends on n02-t2-b (line 2) depends on n01-t1-a (line 1)",
			"edit the ticket: remove one of these dependencies",
		},
		{
			"self", "- [ ] T1 a after T1\n",
			"dependency cycle detected in execution graph; unresolved nodes: n01-t1-a",
			"n01-t1-a (line 1) depends on itself",
			"edit the ticket: remove one of these dependencies",
		},
		{
			"nested", "- [ ] T1 a\n  - [ ] T2 b after T1\n",
			"dependency cycle detected in execution graph; unresolved nodes: n01-t1-a, n02-t2-b",
			"n01-t1-a (line 1) depends on n02-t2-b (line 2) depends on n01-t1-a (line 1)",
			"edit the ticket: remove one of these dependencies (a task with nested tasks waits for them, and they wait for what it waits for)",
		},
	} {
		tk, _ := Parse("t.md", []byte(c.in), Options{})
		d, ds := Build(tk, BuildOptions{})
		if d != nil || len(ds) != 1 || ds[0].Code != fault.Conflict || ds[0].Summary != c.summary || ds[0].Detail != c.detail || ds[0].Hint != c.hint {
			t.Errorf("%s: %+v", c.name, ds)
		}
	}
	var b strings.Builder
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(&b, "- [ ] T%d a after T%d\n", i, i%100+1)
	}
	tk, _ := Parse("t.md", []byte(b.String()), Options{})
	if _, ds := Build(tk, BuildOptions{}); len(ds) != 1 || !strings.HasSuffix(ds[0].Summary, ", and 80 more") || len(ds[0].Detail) > 2000 {
		t.Errorf("a long cycle: %+v", ds)
	}
}

func TestSequential(t *testing.T) {
	t.Parallel()
	src := lines("- [ ] a", "- [ ] b after n04", "- [ ] c", "  - [ ] c1", "- [x] d", "- [~] e", "- [ ] f after n06", "- [ ] g")
	d := must(t, src, BuildOptions{Sequential: true})
	// b waits for c1, so c1 and c come first; the deferred e, and f behind it, are
	// left out of the chain and hold nothing else up.
	if got := shortWaves(d); got != "n01 | n04 | n02 | n03 | n08" {
		t.Errorf("waves %s\n%s", got, show(d))
	}
	if plain := must(t, src, BuildOptions{}); plain.ManifestHash() == d.ManifestHash() || len(d.Edges()) <= len(plain.Edges()) {
		t.Error("the chain is not in the edges")
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	d := must(t, lines(
		"# t", "- [ ] Write src/A.go and data.go", "- [ ] Change `src/a.go`, see (docs/x.md).", "- [ ] rest",
		"## Files Created", "- `src/a.go`", "- a.go", "- docs/x.md", "- left/over.go", "## Tests", "- x/y_test.go", "- `go test ./...`"), BuildOptions{})
	want := [][]string{{"src/a.go"}, {"src/a.go", "docs/x.md"}, {"a.go", "left/over.go"}}
	for i := range d.Nodes {
		if !slices.Equal(d.Nodes[i].Files, want[i]) {
			t.Errorf("%s: files %q, want %q", d.Nodes[i].ID, d.Nodes[i].Files, want[i])
		}
	}
	if !slices.Equal(d.Nodes[2].Tests, []string{"x/y_test.go"}) || !slices.Equal(d.TestCommands, []string{"go test ./..."}) {
		t.Errorf("tests %q, commands %q", d.Nodes[2].Tests, d.TestCommands)
	}
	d = must(t, "# t\n- [ ] a\n## Files Created\n- a.go\n- a_TEST.go\n", BuildOptions{})
	if !slices.Equal(d.Nodes[0].Tests, []string{"a_TEST.go"}) {
		t.Errorf("tests from files: %q", d.Nodes[0].Tests)
	}
}

func TestSlugs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		index       int
		title, want string
	}{
		{1, "Register the /healthz route in router.py", "n01-register-the-healthz-route-in-router-py"},
		{7, "  --Dry-run!! (twice)--", "n07-dry-run-twice"},
		{100, "x", "n100-x"},
		{3, "完了", "n03-step"},
		{3, "", "n03-step"},
		{2, strings.Repeat("a", 47) + " b", "n02-" + strings.Repeat("a", 47) + "-"},
		{2, strings.Repeat("a", 60), "n02-" + strings.Repeat("a", 48)},
		{2, "\u212aelvin \u0130x Émile", "n02-kelvin-i-x-mile"},
	} {
		if got := nodeID(c.index, c.title); got != c.want {
			t.Errorf("%q: %q, want %q", c.title, got, c.want)
		}
	}
}

// The manifest's hash is the canonical hash of the manifest as JSON, without the
// hash: anybody can compute it from what is printed.
func TestManifestHashFromItsJSON(t *testing.T) {
	t.Parallel()
	d := must(t, lines("---", "id: M-1", "objective: \"Ü <&> 😀\"", "scope: [a]", "acceptance: [x, y]", "depends_on: [M-0]", "---",
		"- [ ] a after M-3", "  ```bash", "  make \"é\"", "  ```", "- [-] b", "- [~] c", "## Files Created", "- `x y.go`"), BuildOptions{})
	m := d.Manifest()
	var payload map[string]any
	if err := json.Unmarshal([]byte(toJSON(t, m)), &payload); err != nil {
		t.Fatal(err)
	}
	delete(payload, "manifest_hash")
	form, err := canonjson.Transform([]byte(toJSON(t, payload)))
	if err != nil {
		t.Fatal(err)
	}
	if got := canonjson.Short(form); got != m.Hash || m.Hash != d.ManifestHash() || len(m.Hash) != 16 {
		t.Errorf("hash %s, from the JSON %s", m.Hash, got)
	}
	if m.Acceptance != "x\ny" || *m.NextNode != "M-1:prerequisites" || m.Provenance != ManifestProvenance {
		t.Errorf("%+v", m)
	}
	keys := []string{"id", "title", "done", "depends_on", "files", "tests", "order", "source"}
	for _, n := range payload["nodes"].([]any)[:1] {
		if node := n.(map[string]any); len(node) != len(keys) {
			t.Errorf("a plain node has the keys %v", node)
		}
	}
}

// A DAG that went through JSON, as it does in the store, is the same DAG.
func TestDagSurvivesJSON(t *testing.T) {
	t.Parallel()
	d := must(t, lines("# t", "- [ ] T1 a", "  notes", "- [ ]* T2 b after T1", "  - [~] c", "- [-] d", "  ```bash", "  x", "  ```"), BuildOptions{})
	var back Dag
	if err := json.Unmarshal([]byte(toJSON(t, d)), &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, &back) || back.ManifestHash() != d.ManifestHash() || shortWaves(&back) != shortWaves(d) {
		t.Errorf("%+v\n%+v", d, back)
	}
	if strings.Contains(toJSON(t, must(t, "", BuildOptions{}).View(nil)), ":null,") {
		t.Error("null in the view of an empty ticket")
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	d := must(t, "- [ ] T1 a\n- [ ] T10 b\n", BuildOptions{})
	for word, want := range map[string]int{"T1": 1, "n01-t1-a": 1, "n0": 2, "n02": 1, "zz": 0, "": 0} {
		if got := d.Find(word); len(got) != want {
			t.Errorf("%q: %d nodes, want %d", word, len(got), want)
		}
	}
}
