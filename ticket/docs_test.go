package ticket

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/fault"
)

// docExample is a ticket from the document and the plan printed below it.
type docExample struct {
	line         int
	ticket, plan string
}

// docExamples takes the fenced examples out of the document.
func docExamples(t *testing.T, doc string) []docExample {
	t.Helper()
	var out []docExample
	var block *strings.Builder
	fence, ticket := "", false
	for i, line := range strings.Split(doc, "\n") {
		switch {
		case block == nil && line == "````markdown":
			block, fence, ticket = &strings.Builder{}, "````", true
			out = append(out, docExample{line: i + 1})
		case block == nil && line == "```text plan":
			block, fence, ticket = &strings.Builder{}, "```", false
		case block != nil && line == fence:
			last := &out[len(out)-1]
			if ticket {
				last.ticket = block.String()
			} else {
				last.plan = block.String()
			}
			block = nil
		case block != nil:
			block.WriteString(line + "\n")
		}
	}
	return out
}

// TestDocumentedTickets: every example in docs/tickets.md is read as the document
// says.
func TestDocumentedTickets(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/tickets.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := docExamples(t, string(doc))
	if len(examples) < 6 {
		t.Fatalf("only %d examples found", len(examples))
	}
	for _, e := range examples {
		tk, ds := Parse("example.md", []byte(e.ticket), Options{})
		d, more := Build(tk, BuildOptions{})
		if fault.HasErrors(append(ds, more...)) {
			t.Errorf("line %d:\n%s", e.line, showFindings(append(ds, more...)))
		}
		if diff := cmp.Diff(e.plan, show(d)); diff != "" {
			t.Errorf("line %d (-document +read):\n%s", e.line, diff)
		}
	}
}

// TestDocumentedNotations: every notation and every box in the tables means what
// the document says.
func TestDocumentedNotations(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/tickets.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| written in a line | |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	cell := regexp.MustCompile("^\\| (?:`` (.+?) ``|``(.+?) ``|`(.+?)`) \\|")
	rows := 0
	for row := range strings.SplitSeq(table, "\n") {
		m := cell.FindStringSubmatch(row)
		if m == nil {
			t.Errorf("row without a notation: %s", row)
			continue
		}
		rows++
		clause := m[1] + m[2] + m[3]
		tk, ds := Parse("t.md", []byte("# t\n- [ ] T001 a\n- [ ] T002 b\n- [ ] c "+clause+"\n"), Options{})
		deps := tk.Tasks[2].DependsOn
		if len(ds) > 0 || tk.Tasks[2].Title != "c" || len(deps) == 0 || deps[0].Task != 1 || strings.Contains(clause, "T002") != (len(deps) == 2) {
			t.Errorf("%s: title %q, dependencies %v\n%s", clause, tk.Tasks[2].Title, deps, showFindings(ds))
		}
	}
	if rows < 6 {
		t.Errorf("only %d notations found", rows)
	}
	for mark, state := range map[string]State{" ": StateTodo, "/": StateDoing, "x": StateDone, "✅": StateDone, "-": StateCancelled, "~": StateDeferred} {
		if !strings.Contains(string(doc), "`["+mark+"]`") || boxStates[mark] != state {
			t.Errorf("box %q", mark)
		}
	}
}

// TestDocumentedLimits: the numbers in the document are those in the code.
func TestDocumentedLimits(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/tickets.md")
	if err != nil {
		t.Fatal(err)
	}
	if DefaultMaxBytes != 8<<20 || MaxTasks != 100_000 || MaxEdges != 250_000 || maxNesting != 32 || maxFrontMatterBytes != 64<<10 ||
		MaxLines != 250_000 || !strings.Contains(strings.Join(strings.Fields(string(doc)), " "),
		"8 MiB, 250,000 lines, UTF-8, 100,000 steps, 250,000 dependencies, lists nested 32 deep, 64 KiB of front matter") {
		t.Error("the limits in docs/tickets.md are not those of the code")
	}
	for _, key := range frontMatterKeys {
		if !strings.Contains(string(doc), "`"+key+"`") {
			t.Errorf("front matter key %s is not documented", key)
		}
	}
	for _, s := range sectionsWithoutWork {
		if !strings.Contains(strings.ToLower(string(doc)), "`## "+s+"`") {
			t.Errorf("section %q is not documented", s)
		}
	}
	for _, h := range DefaultAcceptanceHeadings() {
		if !strings.Contains(string(doc), "*"+h+"*") {
			t.Errorf("acceptance heading %q is not documented", h)
		}
	}
}
