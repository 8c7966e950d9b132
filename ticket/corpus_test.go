package ticket

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
)

// corpus returns the folder with task files of other projects, or skips. They lie
// outside of the repository: in $AMBIT_VECTORS, or in shared/vectors beside one of
// the folders above this one.
func corpus(t *testing.T) string {
	t.Helper()
	var tried []string
	if env := os.Getenv("AMBIT_VECTORS"); env != "" {
		tried = append(tried, filepath.Join(env, "tickets"), env)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		tried = append(tried, filepath.Join(dir, "shared", "vectors", "tickets"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, d := range tried {
		if found, _ := filepath.Glob(filepath.Join(d, "*.md")); len(found) > 0 {
			return d
		}
	}
	t.Skip("no corpus of task files: set AMBIT_VECTORS to a folder with tickets/*.md")
	return ""
}

// boxLine is what a person takes for a checklist item. It is written down here a
// second time, and differently, so that the parser does not judge itself.
var (
	boxLine = regexp.MustCompile(`^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?:\[(?:[^\s\[\]]\x{fe0f}?| )\]\*?[ \t\x{a0}]+\S|\[[ xX]\][^\s*(\[:])`)
	inLines = regexp.MustCompile(`\blines? ([0-9, -]+)`)
)

// linesIn returns the lines that the detail of a finding lists.
func linesIn(detail string) (lines []int) {
	for _, m := range inLines.FindAllStringSubmatch(detail, -1) {
		for r := range strings.SplitSeq(m[1], ", ") {
			from, to, ok := strings.Cut(strings.TrimSpace(r), "-")
			if !ok {
				to = from
			}
			a, _ := strconv.Atoi(from)
			b, _ := strconv.Atoi(to)
			for n := a; n <= b; n++ {
				lines = append(lines, n)
			}
		}
	}
	return lines
}

// unaccounted returns the lines with a box that are neither a task nor mentioned
// in a finding.
func unaccounted(src []byte, t *Ticket, ds []fault.Diagnostic) []int {
	known := mentioned(ds)
	for i := range t.Tasks {
		known[t.Tasks[i].Line] = true
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	body := strings.Count(text, "\n") - strings.Count(t.Text, "\n")
	commands := map[string]bool{} // lines of them; a box in one is part of the script
	for i := range t.Tasks {
		for l := range strings.SplitSeq(t.Tasks[i].Command, "\n") {
			commands[strings.TrimSpace(l)] = true
		}
	}
	var lost []int
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if n > body && !known[n] && boxLine.MatchString(line) && !commands[strings.TrimSpace(line)] {
			lost = append(lost, n)
		}
	}
	return lost
}

func TestCorpusNothingIsLost(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	boxes, tasks, nested := 0, 0, 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before := string(src)
		tk, ds := Parse(name, src, Options{})
		d, more := Build(tk, BuildOptions{})
		ds = append(ds, more...)
		if string(src) != before {
			t.Errorf("%s: the input was changed", filepath.Base(name))
		}
		if lost := unaccounted(src, tk, ds); len(lost) > 0 {
			t.Errorf("%s: boxes in lines %v are no tasks and in no finding", filepath.Base(name), lost)
		}
		if d == nil && !fault.HasErrors(ds) {
			t.Errorf("%s: no DAG and no error", filepath.Base(name))
		}
		for line := range strings.SplitSeq(before, "\n") {
			if boxLine.MatchString(line) {
				boxes++
			}
		}
		tasks += len(tk.Tasks)
		for i := range tk.Tasks {
			if tk.Tasks[i].Parent > 0 {
				nested++
			}
		}
		if d != nil {
			checkDag(t, filepath.Base(name), tk, d)
		}
	}
	t.Logf("%d files, %d boxes, %d tasks, %d of them nested", len(files), boxes, tasks, nested)
	if tasks < boxes/2 || nested == 0 {
		t.Errorf("only %d of %d boxes became tasks, %d nested", tasks, boxes, nested)
	}
}

// checkDag checks what holds for every DAG.
func checkDag(t tester, name string, tk *Ticket, d *Dag) {
	t.Helper()
	place := map[string]int{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if _, twice := place[n.ID]; twice || n.Order != i || n.ID == "" || n.Title == "" || !utf8.ValidString(n.Title) {
			t.Errorf("%s: node %d is %+v", name, i, n)
		}
		if n.DependsOn == nil || n.Files == nil || n.Tests == nil {
			t.Errorf("%s: %s has null lists", name, n.ID)
		}
		for _, dep := range n.DependsOn {
			if d.Node(dep) != nil {
				if _, earlier := place[dep]; !earlier {
					t.Errorf("%s: %s comes before %s", name, n.ID, dep)
				}
			}
		}
		place[n.ID] = i
	}
	for i := range tk.Tasks {
		if _, ok := place[tk.Tasks[i].ID]; !ok {
			t.Errorf("%s: task %s has no node", name, tk.Tasks[i].ID)
		}
	}
	in := 0
	for _, w := range d.Waves() {
		in += len(w)
	}
	open := 0
	for i := range d.Nodes {
		if d.Nodes[i].status() == StatusWaiting {
			open++
		}
	}
	if in+len(d.Held()) != open {
		t.Errorf("%s: %d steps in waves and %d held of %d open ones", name, in, len(d.Held()), open)
	}
}

// TestCorpusManifestHash compares with the hashes another implementation made of
// the same files by the literal rules, wherever the practical ones read the same:
// the hash is over the same bytes.
func TestCorpusManifestHash(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	f, err := os.Open(filepath.Join(dir, "expected-literal.jsonl"))
	if err != nil {
		t.Skip("no expected-literal.jsonl beside the corpus: ", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	equal, same := 0, 0
	for lines.Scan() {
		var want struct {
			File         string
			TaskID       string      `json:"task_id"`
			ManifestHash string      `json:"manifest_hash"`
			Order        []string    `json:"order"`
			Done         []string    `json:"done"`
			Edges        [][2]string `json:"edges"`
			NextNode     string      `json:"next_node"`
			Files        map[string][]string
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		src, err := os.ReadFile(filepath.Join(dir, want.File))
		if err != nil {
			t.Fatal(err)
		}
		tk, _ := Parse(want.File, src, Options{})
		tk.DependsOn, tk.Scope = nil, nil
		d, _ := Build(tk, BuildOptions{})
		if d == nil {
			continue
		}
		var edges [][2]string
		plainNodes := true // nothing in the nodes that the literal rules do not know
		var done []string
		for _, e := range d.Edges() {
			edges = append(edges, [2]string{e.From, e.To})
		}
		for i := range d.Nodes {
			n := &d.Nodes[i]
			plainNodes = plainNodes && n.Command == "" && n.State == ""
			if n.Done {
				done = append(done, n.ID)
			}
		}
		if !plainNodes || !slices.Equal(d.Order(), want.Order) || !slices.Equal(edges, want.Edges) || !slices.Equal(done, want.Done) {
			continue
		}
		same++
		d.TaskID, d.Objective, d.Acceptance = want.TaskID, "", nil
		if d.ManifestHash() == want.ManifestHash {
			equal++
		} else {
			t.Logf("%s: same shape, other hash", want.File)
		}
		if d.NextNode() != want.NextNode {
			t.Errorf("%s: next node %q, want %q", want.File, d.NextNode(), want.NextNode)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files with the same shape, %d with the same hash", same, equal)
	if equal < 20 || equal < same*8/10 {
		t.Errorf("%d of %d hashes are equal", equal, same)
	}
}
