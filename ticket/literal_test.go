package ticket

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/fault"
)

// literalResult is what an implementation of the literal rules says of one file.
type literalResult struct {
	OK           bool                `json:"ok"`
	Error        string              `json:"error"`
	Message      string              `json:"message"`
	NodeIDs      []string            `json:"node_ids"`
	Order        []string            `json:"order"`
	Edges        [][2]string         `json:"edges"`
	InGraphEdges [][2]string         `json:"in_graph_edges"`
	Waves        [][]string          `json:"waves"`
	Done         []string            `json:"done"`
	Files        map[string][]string `json:"files"`
	Tests        map[string][]string `json:"tests"`
	NextNode     *string             `json:"next_node"`
	ManifestHash string              `json:"manifest_hash"`
}

// literalOf plans a ticket by the literal rules as a function of its text, its id
// and the tickets before it, which is all that those rules know.
func literalOf(t tester, id string, src []byte, before []string) literalResult {
	t.Helper()
	tk, ds := Parse("t.md", src, Options{Grammar: GrammarLiteral})
	if err := AsError("", ds); err != nil {
		t.Fatalf("the literal grammar was stopped by a finding: %v", err)
	}
	tk.ID, tk.DependsOn, tk.Scope, tk.Objective, tk.Acceptance = id, before, nil, "", nil
	d, more := Build(tk, BuildOptions{})
	if d == nil {
		e, ok := AsError("", more).(*fault.Error) //nolint:errorlint // AsError gives nothing else
		if !ok {
			t.Fatalf("no DAG and no error")
		}
		return literalResult{Error: map[fault.Code]string{fault.Conflict: "Conflict"}[e.Code], Message: more[0].Summary}
	}
	r := literalResult{
		OK: true, Order: d.Order(), Edges: [][2]string{}, InGraphEdges: [][2]string{}, Waves: d.Waves(), Done: []string{},
		Files: map[string][]string{}, Tests: map[string][]string{}, ManifestHash: d.ManifestHash(),
	}
	if next := d.NextNode(); next != "" {
		r.NextNode = &next
	}
	for _, e := range d.Edges() {
		r.Edges = append(r.Edges, [2]string{e.From, e.To})
	}
	byIndex := make([]string, len(d.Nodes)+1) // the root and the fallback have index 0
	for i, waits := range d.InGraph() {
		n := &d.Nodes[i]
		for _, to := range waits {
			r.InGraphEdges = append(r.InGraphEdges, [2]string{n.ID, to})
		}
		if len(n.Files) > 0 {
			r.Files[n.ID] = n.Files
		}
		if len(n.Tests) > 0 {
			r.Tests[n.ID] = n.Tests
		}
		if n.Index > 0 {
			byIndex[n.Index] = n.ID
		} else {
			r.NodeIDs = append(r.NodeIDs, n.ID)
		}
	}
	for _, id := range byIndex {
		if id != "" {
			r.NodeIDs = append(r.NodeIDs, id)
		}
	}
	for _, id := range r.NodeIDs {
		if d.Node(id).Done {
			r.Done = append(r.Done, id)
		}
	}
	return r
}

// TestLiteralVectors holds every file of the corpus to what another
// implementation of the literal rules made of it: ids, order, edges, waves, files,
// tests, the manifest's hash, or the error.
func TestLiteralVectors(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	f, err := os.Open(filepath.Join(dir, "expected-literal.jsonl"))
	if err != nil {
		t.Skip("no expected-literal.jsonl beside the corpus: ", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	seen, failed := 0, 0
	for lines.Scan() {
		var meta struct {
			File   string `json:"file"`
			TaskID string `json:"task_id"`
		}
		var want literalResult
		if err := json.Unmarshal(lines.Bytes(), &meta); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		src, err := os.ReadFile(filepath.Join(dir, meta.File))
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if diff := cmp.Diff(want, literalOf(t, meta.TaskID, src, nil)); diff != "" {
			failed++
			t.Errorf("%s (-want +got):\n%s", meta.File, diff)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if all, _ := filepath.Glob(filepath.Join(dir, "*.md")); seen < len(all) || seen == 0 {
		t.Errorf("%d results for %d files", seen, len(all))
	}
	t.Logf("%d files, %d differ", seen, failed)
}

// TestLiteralReadings holds small tickets, one for each thing the rules leave
// open, to results that another implementation made of them.
func TestLiteralReadings(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/literal.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string        `json:"name"`
		Text   string        `json:"text"`
		Before []string      `json:"before"`
		Want   literalResult `json:"want"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 30 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.Want, literalOf(t, "M-1", []byte(c.Text), c.Before)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, c.Text)
			}
		})
	}
}

// TestLiteralPromises throws the pieces of tickets together: no panic, no error but
// a cycle, no box that is neither a task nor reported, and no time that grows
// faster than the text.
func TestLiteralPromises(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{
		"\n", "\n", "\r\n", " ", "\t", "\u00a0", "\u3000", "\x1c", "- [ ] ", "- [x] ", "* [X]", "+ [ ] ", "1. [ ] ", "- [-] ", "-", "*", "`", "–", ":",
		"## Tasks\n", "## tasks \n", "## Notes\n", "### Tasks\n", "## Files Created\n", "## Tests\n", "## Acceptance Criteria\n", "```\n", "\ufeff",
		" depends on ", " after ", "requires ", "AFTER", "dependſ on ", "requıres ", "n01", "n02", "n3", "N01", "M-1", ",", " , ", "a/b.go", "test_x.py", "word", "完成", "_", "²", "é", "İ", "Σ", ".",
	})
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(strings.Join(rapid.SliceOfN(pieces, 0, 60).Draw(t, "pieces"), ""))
		checkLiteral(t, src)
	})
}

func checkLiteral(t tester, src []byte) {
	t.Helper()
	before := bytes.Clone(src)
	tk, ds := Parse("fuzz.md", src, Options{Grammar: GrammarLiteral})
	if !bytes.Equal(src, before) {
		t.Fatalf("the input was changed")
	}
	for _, d := range ds {
		if d.Code == fault.Internal {
			t.Fatalf("a reader panicked: %s", d.Detail)
		}
	}
	if fault.HasErrors(ds) {
		return // not text, or too much of it
	}
	d, more := Build(tk, BuildOptions{})
	if d == nil {
		if c := AsError("", more); fault.CodeOf(c) != fault.Conflict {
			t.Fatalf("no DAG and no cycle: %v", c)
		}
		return
	}
	place := map[string]int{}
	for i := range d.Nodes {
		place[d.Nodes[i].ID] = i
	}
	open, in := 0, 0
	for i, waits := range d.InGraph() {
		for _, id := range waits {
			if place[id] >= i {
				t.Fatalf("%s comes before %s", d.Nodes[i].ID, id)
			}
		}
		if !d.Nodes[i].Done {
			open++
		}
	}
	for _, w := range d.Waves() {
		in += len(w)
	}
	if in != open || len(d.Held()) > 0 {
		t.Fatalf("%d in waves and %d open", in, open)
	}
	if len(ds) < maxFindings && !bytes.ContainsRune(src, '\r') {
		if lost := unaccounted(src, tk, ds); len(lost) > 0 {
			t.Fatalf("boxes lost in lines %v", lost)
		}
	}
}

func FuzzLiteral(f *testing.F) {
	for _, s := range []string{
		"## Tasks\n- [ ] a after n02, X\n- [x] b\n## Files Created\n- `a/b.go` - x\n- a-b: y\n## Tests\n- t\n",
		"\ufeff## Tasks\r\n* [X]\u00a0a depends on M-1 , M-2\r\n- [ ] \r\n", "- [ ] requires n01\n---\n- [ ]x\n", "---\nid: [\n---\n- [ ] 完成after x\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) { checkLiteral(t, src) })
}
