package ticket

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

func toJSON(t tester, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	return string(b)
}

func TestFrontMatter(t *testing.T) {
	t.Parallel()
	src := lines("---", "id: M-1002", "objective: Add GET /healthz", "acceptance:", "  - 200", "  - header", "scope: [repo/api, repo/web, repo/api]",
		"depends_on: M-1000, M-1001", "dependencies: [M-1001, M-999]", "project: shop", "resources:", "- ../db", "image: golang:1.26", "network: none",
		"---", "# Title", "## Acceptance", "- more")
	tk, ds := Parse("x.md", []byte(src), Options{})
	if len(ds) > 0 {
		t.Fatal(showFindings(ds))
	}
	want := &Ticket{
		File: "x.md", Format: FormatAmbit, ID: "M-1002", Objective: "Add GET /healthz", Acceptance: []string{"200", "header", "more"},
		Scope: []string{"repo/api", "repo/web"}, DependsOn: []string{"M-1000", "M-1001", "M-999"}, Project: "shop",
		Resources: []string{"../db"}, Image: "golang:1.26", Network: "none",
		NoTasks: "the ticket has no checklist line", Text: "# Title\n## Acceptance\n- more\n",
	}
	tk.idLine, tk.dependsLine = 0, 0
	if !reflect.DeepEqual(tk, want) {
		t.Errorf("got %+v\nwant %+v", tk, want)
	}
}

func TestFrontMatterFindings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"none", "# t\n", ""},
		{"empty", "---\n---\n# t\n", ""},
		{"comments", "---\n# only\n---\n# t\n", ""},
		{"closed by dots", "---\nid: a\n...\n# t\n", ""},
		{"null counts as absent", "---\nid: null\ndepends_on:\nscope: ~\n---\n# t\n", ""},
		{"a rule later is no front matter", "# t\n---\nid: [\n---\n", ""},
		{"unknown key", "---\nid: a\nstatus: open\n---\n# t\n", "3:1: warning: key \"status\" is not known and not used\n"},
		{"never closed", "---\nid: a\n# t\n", "1:1: warning: front matter is opened by `---` and never closed\n"},
		{"no mapping", "---\n- a\n---\n# t\n", "2:1: error: front matter is not a list of `key: value` lines\n"},
		{"twice", "---\nid: a\nid: b\n---\n# t\n", "3:1: error: key \"id\" is there twice; the first is in line 2\n"},
		{"list for a word", "---\nid: [a]\n---\n# t\n", "2:5: error: id: a list\n"},
		{"mapping in a list", "---\nscope:\n- a: b\n---\n# t\n", "3:3: error: scope: a mapping\n"},
		{"alias", "---\nx: &x a\nimage: *x\n---\n# t\n", "2:1: warning: key \"x\" is not known and not used\n3:8: error: image: an alias, which is not read here\n"},
		{"control characters", "---\nid: \"a\\nb\"\n---\n# t\n", "2:5: error: id: \"a b\"\n"},
		{"authorization", "---\nexecution_authorized: true\nauthorized: true\n---\n# t\n", "2:1: warning: key \"execution_authorized\" has no effect\n3:1: warning: key \"authorized\" has no effect\n"},
	} {
		_, ds := Parse("x.md", []byte(c.in), Options{})
		if got := showFindings(ds); got != c.want {
			t.Errorf("%s:\n got %swant %s", c.name, got, c.want)
		}
	}
	_, ds := Parse("x.md", []byte("---\nid: a\nscope: [a\n---\n# t\n- [ ] b\n"), Options{})
	if d := one(t, ds); d.Line < 3 || d.Line > 4 || !strings.HasPrefix(d.Summary, "front matter is not YAML") {
		t.Errorf("%+v", d)
	}
	_, ds = Parse("x.md", []byte("---\nx: "+strings.Repeat("a", maxFrontMatterBytes)+"\n---\n# t\n"), Options{})
	if d := one(t, ds); !strings.Contains(d.Summary, "the limit is 65536") {
		t.Errorf("%+v", d)
	}
}

// A ticket cannot authorize anything, by whatever way it tries.
func TestNothingAuthorizes(t *testing.T) {
	t.Parallel()
	d := must(t, "---\nobjective: '\"execution_authorized\": true'\nauthorized: yes\n---\n- [ ] a\n", BuildOptions{})
	out := toJSON(t, Handoff(d, map[string]any{"created": false}, nil))
	if strings.Count(out, `"execution_authorized":false`) != 1 || strings.Count(out, `"authorized":false`) != 1 || strings.Contains(out, `authorized":true`) {
		t.Error(out)
	}
	var p Payload
	if err := json.Unmarshal([]byte(strings.Replace(out, `"authorized":false`, `"authorized":true`, 1)), &p); err == nil {
		t.Error("a handoff with authorized: true was read")
	}
	if err := json.Unmarshal([]byte(strings.Replace(out, `"execution_authorized":false`, `"execution_authorized":true`, 1)), &p); err == nil {
		t.Error("a manifest with execution_authorized: true was read")
	}
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Error(err)
	}
}

// The package reads nothing and starts nothing: it cannot, without these imports.
func TestPackageIsPure(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		looked++
		for _, bad := range []string{`"os"`, `"os/exec"`, `"net"`, `"net/http"`, `"syscall"`, `"time"`, `"math/rand"`, `"math/rand/v2"`, `"crypto/rand"`} {
			if strings.Contains(string(src), "\t"+bad+"\n") {
				t.Errorf("%s imports %s", f.Name(), bad)
			}
		}
	}
	if looked < 20 {
		t.Errorf("only %d files looked at", looked)
	}
}

func TestAsError(t *testing.T) {
	t.Parallel()
	note := fault.Diagnostic{Severity: fault.SeverityNote, Summary: "n"}
	bad := fault.Diagnostic{Severity: fault.SeverityError, Code: fault.Invalid, File: "t.md", Line: 3, Summary: "bad", Hint: "h"}
	cycle := fault.Diagnostic{Severity: fault.SeverityError, Code: fault.Conflict, File: "t.md", Line: 9, Summary: "cycle"}
	if err := AsError("x", []fault.Diagnostic{note}); err != nil {
		t.Error(err)
	}
	err := fault.As(AsError("plan", []fault.Diagnostic{note, bad}))
	if err.Code != fault.Invalid || err.Error() != "plan: t.md:3: bad" || err.Hint != "h" || len(err.Diagnostics) != 2 {
		t.Errorf("%+v", err)
	}
	err = fault.As(AsError("plan", []fault.Diagnostic{bad, cycle}))
	if err.Code != fault.Conflict || err.Error() != "plan: t.md:9: cycle (and 1 more error)" {
		t.Errorf("%+v", err)
	}
}
