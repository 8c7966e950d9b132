package ticket

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/fault"
)

// tester is what testing and rapid have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// checkPromises holds a ticket to what is promised of all of them.
func checkPromises(t tester, src []byte) {
	t.Helper()
	before := bytes.Clone(src)
	tk, ds := Parse("fuzz.md", src, Options{})
	if !bytes.Equal(src, before) {
		t.Fatalf("the input was changed")
	}
	if tk == nil || tk.ID == "" || tk.Objective == "" {
		t.Fatalf("ticket %+v", tk)
	}
	lines := bytes.Count(src, []byte("\n")) + bytes.Count(src, []byte("\r")) + 1
	for _, d := range ds {
		if d.Code == fault.Internal {
			t.Fatalf("a reader panicked: %s", d.Detail)
		}
		if d.Summary == "" && d.Severity == fault.SeverityError || d.Line < 0 || d.Line > lines+1 || d.Column < 0 {
			t.Fatalf("finding %+v in %d lines", d, lines)
		}
	}
	for i := range tk.Tasks {
		k := &tk.Tasks[i]
		if k.Index != i+1 || k.Line < 1 || k.Line > lines || k.Title == "" || !utf8.ValidString(k.Title) || k.Parent >= k.Index || k.State == "" {
			t.Fatalf("task %+v", k)
		}
		for _, r := range k.DependsOn {
			if r.Task < 0 || r.Task > len(tk.Tasks) || r.Written == "" {
				t.Fatalf("dependency %+v", r)
			}
		}
	}
	for _, sequential := range []bool{false, true} {
		d, more := Build(tk, BuildOptions{Sequential: sequential})
		if d == nil {
			if !fault.HasErrors(more) {
				t.Fatalf("no DAG and no error")
			}
			continue
		}
		checkDag(t, "fuzz", tk, d)
		if len(d.Nodes) == 0 || d.ManifestHash() == "unhashable" {
			t.Fatalf("nodes %d, hash %s", len(d.Nodes), d.ManifestHash())
		}
		Prompt(d, &d.Nodes[0], PromptInput{})
		CheckRunnable(d, false)
	}
	again, _ := Parse("fuzz.md", src, Options{})
	if toJSON(t, again) != toJSON(t, tk) {
		t.Fatalf("the same bytes gave another ticket")
	}
	if !fault.HasErrors(ds) && len(ds) < maxFindings {
		if lost := unaccounted(src, tk, ds); len(lost) > 0 {
			t.Fatalf("boxes lost in lines %v", lost)
		}
	}
}

// TestFragmentsInAnyOrder throws the pieces tickets are made of together. Fuzzing
// changes bytes and seldom makes a second clause or a deeper list; this does.
func TestFragmentsInAnyOrder(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{
		"\n", "\n", "\n", "\r\n", " ", "  ", "    ", "\t", "- [ ] ", "- [x] ", "* [-] ", "+ [~] ", "1. [ ] ", "- [ ]* ", "- [?] ", "- ", "> ", "-[ ] ",
		"# ", "## Tasks\n", "## Notes\n", "### Acceptance\n", "## Files Created\n", "## Tests\n", "```\n", "```sh\n", "```console\n", "```[tasklist]\n",
		"<!--", "-->", "<details>\n", "---\n", "T001", "T002", "T003", "1.1", "1.2", "S3", "n01", "n02-b", "#2", "M-1000", "T001-T003", "1-3", "owner/r#1",
		" depends on ", " after ", "requires ", "blocked by ", "Depends on: ", "_Depends: ", "_", "**", "`", "(", ")", "[", "]", ",", " and ", " to ", "–", ".",
		"⛔ ", "🆔 ", "[dependsOn:: ", "[id:: ", "word", "a.go", "src/a.go", "$ make", "\\", "é", "\u00a0", "Acceptance:", "task ", "is done", "none",
	})
	rapid.Check(t, func(t *rapid.T) {
		checkPromises(t, []byte(strings.Join(rapid.SliceOfN(pieces, 0, 60).Draw(t, "pieces"), "")))
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"# t\n- [ ] T1 a\n  - [x] T2 b (depends on T1, n01)\n    ```sh\n    make\n    ```\n- [~] c ⛔ T2 🆔 x\n",
		"---\nid: a\ndepends_on: [b]\n---\n## Tasks\r\n1. [ ] a after #2-#3\r\n2. [/] b\r\n",
		"## Files Created\n- `a b.go` - x\n## Tests\n- go test ./...\n## Acceptance\n- [ ] ok\n- [ ] done\n",
		"```[tasklist]\n- [ ] a\n```\n<!--\n- [ ] b\n-->\n> - [ ] c\n\n    - [ ] d\n-[ ] e\n- [] f\n- [?] g\n- [ ]* h\n",
		"- [ ] 1.1 a _Depends: 1.2_\n- [ ] 1.2 b\n  - Depends on:\n    - 1.1-1.3\n- [ ] `T9` [dependsOn:: 1.1]\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) { checkPromises(t, src) })
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{
		"id: M-1\nobjective: x\nacceptance: [a, b]\nscope: a, b\n", "depends_on: [a]\ndependencies: b\nimage: x\nnetwork: none\n",
		"a: &x [1]\nb: *x\n", "? {a: b}\n: c\n", "id: null\nscope:\n- a: b\n", "id: !!binary aGk=\n", "\"\\x00\": |\n  text\n", "<<: {id: a}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, yaml []byte) {
		src := append([]byte("---\n"), yaml...)
		checkPromises(t, append(src, "\n---\n- [ ] a\n"...))
	})
}
