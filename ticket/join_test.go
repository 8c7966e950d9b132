package ticket

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/fault"
)

// files makes sources of pairs of a name and a text.
func files(pairs ...string) (sources []Source) {
	for k := 0; k < len(pairs); k += 2 {
		sources = append(sources, Source{pairs[k], []byte(pairs[k+1])})
	}
	return sources
}

// planAll plans a folder and renders what was found.
func planAll(sources []Source, opts Options) (*Dag, string) {
	tk, ds := ParseAll("folder", sources, opts)
	if fault.HasErrors(ds) {
		return nil, fileFindings(ds)
	}
	d, more := Build(tk, BuildOptions{})
	return d, fileFindings(append(ds, more...))
}

func fileFindings(ds []fault.Diagnostic) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintln(&b, strings.TrimSpace(d.String()+" | "+d.Detail))
	}
	return b.String()
}

func TestFolderErrorsNameBothFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sources []Source
		want    []string
	}{
		"the same id twice": {
			files("f/a.md", "---\nobjective: x\nid: M-1\n---\n- [ ] a\n", "f/b.md", "---\nid: m-1\n---\n- [ ] b\n"),
			[]string{`f/b.md:2: error: id "m-1" is also that of f/a.md:3`},
		},
		"the same id by file name": {
			files("f/a.md", "- [ ] a\n", "f/b.md", "---\nid: a\n---\n- [ ] b\n"),
			[]string{`f/b.md:2: error: id "a" is also that of f/a.md:1`},
		},
		"a circle": {
			files("f/a.md", "---\nid: A\ndepends_on: B\n---\n- [ ] a\n", "f/b.md", "---\nid: B\n# why not\ndepends_on: A\n---\n- [ ] b\n"),
			[]string{"error: dependency cycle", "(f/a.md:3)", "(f/b.md:4)"},
		},
		"a circle through a step": {
			files("f/a.md", "---\nid: A-1\n---\n- [ ] a after B-1\n", "f/b.md", "---\nid: B-1\ndepends_on: A-1\n---\n- [ ] b\n"),
			[]string{"error: dependency cycle", "(f/a.md:", "(f/b.md:"},
		},
		"itself": {
			files("f/a.md", "---\nid: A\ndepends_on: A\n---\n- [ ] a\n", "f/b.md", "- [ ] b\n"),
			[]string{"error: dependency cycle", "(f/a.md:3)"},
		},
		"two networks": {
			files("f/a.md", "---\nnetwork: none\n---\n- [ ] a\n", "f/b.md", "---\nnetwork: host\n---\n- [ ] b\n"),
			[]string{`f/b.md:1: error: network: "host", and "none" in f/a.md`},
		},
		"an error in one": {
			files("f/a.md", "- [ ] T1 a after T9\n", "f/b.md", "- [ ] b\n"),
			[]string{`f/a.md:1:18: error: there is no task "T9" in this ticket`},
		},
		"nothing": {
			files("f/a.md", "# Read me\n", "f/b.md", "\n"),
			[]string{"folder: error: no ticket among 2 files", "f/a.md:1: note: no ticket"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, got := planAll(c.sources, Options{Format: FormatAuto})
			if d != nil {
				t.Errorf("planned:\n%s", show(d))
			}
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q is not in:\n%s", w, got)
				}
			}
		})
	}
	if _, got := planAll(files("a.md", "- [ ] a\n"), Options{Grammar: GrammarLiteral}); !strings.Contains(got, "literal grammar reads one ticket") {
		t.Error(got)
	}
}

func TestFolderStepsWaitForOtherTickets(t *testing.T) {
	t.Parallel()
	d, found := planAll(files(
		"f/one.md", "---\nid: a/b\n---\n# One\n- [ ] T1 x\n- [ ] T2 y (depends on T1)\n",
		"f/two.md", "---\nid: two\ndepends_on: [a/b, gone-1]\n---\n# Two\n- [ ] T1 x\n",
		"f/three.md", "- [ ] z after a/b\n- [ ] w after T-9\n- [~] later\n",
	), Options{Format: FormatAuto})
	want := lines("folder:prerequisites Satisfy ticket prerequisites <- gone-1",
		"a-b:n01 T1 x <- folder:prerequisites",
		"a-b:n02 T2 y <- folder:prerequisites, a-b:n01",
		"a-b One <- folder:prerequisites, a-b:n01, a-b:n02 [group]",
		"two:n01 T1 x <- folder:prerequisites, a-b",
		"two Two <- folder:prerequisites, a-b, two:n01 [group]",
		"three:n01 z after a/b <- folder:prerequisites",
		"three:n02 w <- folder:prerequisites, T-9",
		"three:n03 later <- folder:prerequisites [deferred]",
		"three three <- folder:prerequisites, three:n01, three:n02, three:n03 [group]")
	if got := show(d); got != want {
		t.Errorf("got\n%swant\n%s%s", got, want, found)
	}
}

// TestFolderIDsAreUnique: however ids and titles collide, every step has an id of
// its own that can be the name of a file.
func TestFolderIDsAreUnique(t *testing.T) {
	t.Parallel()
	ids := rapid.SampledFrom([]string{"a", "A", "a/b", "a:b", "a b", "a-b", "n01-x", "a-2", "..", "/", "folder"})
	rapid.Check(t, func(t *rapid.T) {
		var sources []Source
		for k := range rapid.IntRange(1, 6).Draw(t, "files") {
			text := fmt.Sprintf("---\nid: %q\ndepends_on: [%q]\n---\n- [ ] x\n- [x] x\n", ids.Draw(t, "id"), ids.Draw(t, "on"))
			sources = append(sources, Source{fmt.Sprintf("%d.md", k), []byte(text)})
		}
		tk, ds := ParseAll("folder", sources, Options{})
		if fault.HasErrors(ds) {
			return
		}
		d, _ := Build(tk, BuildOptions{})
		if d == nil {
			return // a circle
		}
		checkDag(t, "folder", tk, d)
		for i := range d.Nodes {
			if id := d.Nodes[i].ID; strings.ContainsAny(id, "/\\ ") || strings.HasPrefix(id, ".") {
				t.Fatalf("id %q", id)
			}
		}
	})
}

// TestSequencePassesOver: what is done, deferred or waits for a deferred task holds
// up nothing behind it in the list; what is declared does.
func TestSequencePassesOver(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		lines("- [ ] T001 [US1] a", "- [x] T002 b", "- [ ] T003 c"):                                                                         "n01 | n03",
		lines("- [ ] T001 [US1] a", "- [~] T002 b", "- [ ] T003 c"):                                                                         "n01 | n03",
		lines("- [ ] T001 [US1] a", "- [~] T002 b", "- [ ] T003 c after T002", "- [ ] T004 d"):                                              "n01 | n04",
		lines("- [ ] T001 [US1] a", "- [ ] T002 [P] b", "- [x] T003 c", "- [ ] T004 [P] d"):                                                 "n01 | n02 | n04",
		lines("- [ ] T001 [US1] a", "- [~] T002 b", "## Dependencies", "- T003 depends on T002", "## More", "- [ ] T003 c", "- [ ] T004 d"): "n01 | n04",
	} {
		tk, ds := Parse("x.md", []byte(in), Options{Format: FormatSpecKit})
		d, more := Build(tk, BuildOptions{})
		if d == nil {
			t.Fatal(showFindings(append(ds, more...)))
		}
		if got := shortWaves(d); got != want {
			t.Errorf("%swaves %s, want %s", in, got, want)
		}
	}
}

// TestBarrier: between many steps and many steps stands one that does nothing.
func TestBarrier(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	const each = 40
	for part := range 3 {
		fmt.Fprintf(&b, "\n## Phase %d\n\n", part)
		for k := range each {
			fmt.Fprintf(&b, "- [ ] T%03d [P] x\n", part*each+k)
		}
	}
	tk, _ := Parse("x.md", []byte(b.String()), Options{Format: FormatAuto})
	d, _ := Build(tk, BuildOptions{})
	waves, gates := d.Waves(), 0
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Source == SourceBarrier {
			if gates++; !n.Group || n.Runs() || len(n.DependsOn) != each {
				t.Errorf("%+v", n)
			}
		}
	}
	if gates != 2 || len(waves) != 5 || len(waves[0]) != each || len(waves[1]) != 1 || len(d.Edges()) != 4*each {
		t.Errorf("%d barriers, %d waves, %d edges", gates, len(waves), len(d.Edges()))
	}
	for _, x := range CheckRunnable(d, false) {
		if !strings.HasPrefix(x.Summary, fmt.Sprint(3*each)) {
			t.Error(x.Summary)
		}
	}
}

// TestSequenceWaitsBelowTickedSteps: what is left below a step that was ticked too
// early is waited for, though the step above it no longer waits.
func TestSequenceWaitsBelowTickedSteps(t *testing.T) {
	t.Parallel()
	tk, ds := Parse("x.md", []byte(lines("- [ ] 1. a", "  - [x] 1.1 b", "    - [ ] 1.1.1 c", "    - [ ] 1.1.2 d", "- [ ] 2. e")), Options{Format: FormatKiro})
	d, more := Build(tk, BuildOptions{})
	if d == nil {
		t.Fatal(showFindings(append(ds, more...)))
	}
	if got, want := shortWaves(d), "n03 n01 | n04 | n05"; got != want {
		t.Errorf("waves %s, want %s", got, want)
	}
}
