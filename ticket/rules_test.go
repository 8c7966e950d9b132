package ticket

import "testing"

func TestRule1_OnlyMarkdownListItemsCount(t *testing.T) {
	t.Parallel()
	runRules(t, []ruleCase{
		{
			name: "fence, comment, quote and indented code hold no steps",
			in: lines("- [ ] a", "", "```", "- [ ] fenced", "- [ ] again", "```", "", "<!--", "- [ ] hidden", "-->", "",
				"> - [ ] quoted", "", "text", "", "    - [ ] code"),
			dag: []string{"n01 a"},
			findings: []string{
				"4:1: note: 2 boxes in code fences: examples, not steps",
				"9:1: note: 1 box in HTML comments: not steps",
				"12:3: note: 1 box in quotes: not steps",
				"16:5: warning: 1 box in indented code: not steps",
			},
		},
		{
			name: "GitHub's task list fence is a list",
			in:   lines("```[tasklist]", "### Things", "- [ ] a", "- [x] b depends on n01", "```"),
			dag:  []string{"n01 a", "n02 b <- n01 [done]"},
		},
		{
			name:     "a heading in a fence opens no section",
			in:       lines("- [ ] a", "", "```", "## Tasks", "- [ ] x", "```", "", "- [ ] b"),
			dag:      []string{"n01 a", "n02 b"},
			findings: []string{"5:1: note: 1 box in code fences: examples, not steps"},
		},
		{
			name: "boxes that are no list items are reported",
			in:   lines("- [ ] a", "", "-[ ] no blank", "", "- [] nothing", "", "- [x ] wide", "", "text", "2. [ ] cannot interrupt"),
			dag:  []string{"n01 a"},
			findings: []string{
				"3:1: warning: 4 boxes that Markdown does not read as list items: not steps",
			},
		},
		{
			name:     "HTML goes on to the next empty line",
			in:       lines("<details>", "- [ ] swallowed", "", "- [ ] a", "", "</details>"),
			dag:      []string{"n01 a"},
			findings: []string{"2:1: warning: 1 box in an HTML block: not steps"},
		},
		{
			name: "links and legends are no boxes",
			in:   lines("- [ ] a", "- [x](https://example.org) link", "- [x][ref] link", "- [P] parallel"),
			dag:  []string{"n01 a"},
			findings: []string{
				"4:1: warning: 1 box with an unknown mark: not steps",
			},
		},
		{
			name: "an underlined heading inside an item is still its text",
			in:   lines("- [ ] a", "  ---", "- [ ] b"),
			dag:  []string{"n01 a", "n02 b"},
		},
	})
}

func TestRule2_PathsAndTestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bullet, want string }{
		{"`docs/dry-run.md` - note", "docs/dry-run.md"},
		{"docs/dry-run.md", "docs/dry-run.md"},
		{"docs/dry-run.md - note", "docs/dry-run.md"},
		{"docs/dry-run.md — note", "docs/dry-run.md"},
		{"docs/dry-run.md – note - more", "docs/dry-run.md"},
		{"src/a.go: the router", "src/a.go"},
		{"src/a.go (new)", "src/a.go"},
		{"`a b/c d.txt`: spaces", "a b/c d.txt"},
		{"a b/c d.txt - spaces", "a b/c d.txt"},
		{"[ ] `a.go`", "a.go"},
		{"Makefile", "Makefile"},
		{"C:\\x\\y.go", "C:\\x\\y.go"},
		{"---", ""},
		{"**Total**: 5", ""},
		{"Thread-safe handling of x", ""},
		{"``", ""},
	} {
		tk, _ := Parse("t.md", []byte("## Files Created\n- "+c.bullet+"\n"), Options{})
		got := ""
		if len(tk.Files) > 0 {
			got = tk.Files[0]
		}
		if got != c.want || len(tk.Files) > 1 {
			t.Errorf("%q: %q, want %q", c.bullet, tk.Files, c.want)
		}
	}
	for _, c := range []struct{ bullet, command, path string }{
		{"bun test src/x", "bun test src/x", ""},
		{"`go test ./...` - all", "go test ./...", ""},
		{"make", "make", ""},
		{"`CI=1 ./run.sh --all`", "CI=1 ./run.sh --all", ""},
		{"$ anything goes", "anything goes", ""},
		{"./scripts/check.sh", "", "./scripts/check.sh"},
		{"`repo/api/tests/test_healthz.py`", "", "repo/api/tests/test_healthz.py"},
		{"go.mod", "", "go.mod"},
	} {
		tk, _ := Parse("t.md", []byte("## Tests\n- "+c.bullet+"\n"), Options{})
		command, path := "", ""
		if len(tk.TestCommands) > 0 {
			command = tk.TestCommands[0]
		}
		if len(tk.Tests) > 0 {
			path = tk.Tests[0]
		}
		if command != c.command || path != c.path {
			t.Errorf("%q: command %q, path %q; want %q, %q", c.bullet, command, path, c.command, c.path)
		}
	}
}

func TestRule3_DependencyClauses(t *testing.T) {
	t.Parallel()
	three := lines("- [ ] T001 a", "- [ ] T002 b", "- [ ] T003 c")
	base := []string{"n01 T001 a", "n02 T002 b", "n03 T003 c"}
	last := func(want string, findings ...string) (dag, f []string) { return append(base[:3:3], want), findings }
	var cases []ruleCase
	for _, c := range []struct{ text, want, finding string }{
		{"d depends on T001", "d <- n01", ""},
		{"d depends on: T001", "d <- n01", ""},
		{"d Depends On T001, T002", "d <- n01, n02", ""},
		{"d requires T001 and T002", "d <- n01, n02", ""},
		{"d after T001, T002, and T003", "d <- n01, n02, n03", ""},
		{"d blocked by T001", "d <- n01", ""},
		{"d is blocked by `T001` & **T002**", "d <- n01, n02", ""},
		{"d (depends on T001)", "d <- n01", ""},
		{"d (depends on T001; blocked by T002)", "d <- n01, n02", ""},
		{"d [depends on T001] and more", "d and more <- n01", ""},
		{"d (depends on T001-T003)", "d <- n01, n02, n03", ""},
		{"d depends on T001–T003.", "d. <- n01, n02, n03", ""},
		{"d depends on T001..T002", "d <- n01, n02", ""},
		{"d depends on T001 to T003", "d <- n01, n02, n03", ""},
		{"d depends on T001-003", "d <- n01, n02, n03", ""},
		{"d (depends on T001-T002 tests)", "d (tests) <- n01, n02", ""},
		{"d depends on [T001](#t001)", "d <- n01", ""},
		{"d depends on task T001", "d <- n01", ""},
		{"d depends on t001", "d <- n01", ""},
		{"d, which depends on T001 (schema), T002 (api)", "d <- n01, n02", ""},
		{"d after T001 is done", "d <- n01", ""},
		{"d after T001/T002", "d <- n01, n02", ""},
		{"d after plan.md creation", "d after plan.md creation", `4:9: note: "after plan.md creation" is read as words, not as a dependency`},
		{"d after and/or T001", "d after and/or T001", `4:9: note: "after and/or T001" is read as words, not as a dependency`},
		{"After T001, do d", "do d <- n01", ""},
		{"d ⛔ T001,T002", "d <- n01, n02", ""},
		{"d ⛔️ T001", "d <- n01", ""},
		{"d [dependsOn:: T001, T002]", "d <- n01, n02", ""},
		{"d (dependsOn:: T001)", "d <- n01", ""},
		{"d _Depends: T001_", "d <- n01", ""},
		{"d depends on T001 requires T002 after T003", "d <- n01, n02, n03", ""},
		{"d depends on n02", "d <- n02", ""},
		{"d depends on n2", "d <- n02", ""},
		{"d depends on n01-t001-a", "d <- n01", ""},
		{"d depends on n01-n03", "d <- n01, n02, n03", ""},
		{"d depends on T001 <!-- really -->", "d <- n01", ""},
		{"d `depends on T001` in code", "d `depends on T001` in code", ""},
		{"d depends on M-1000", "d <- M-1000", `4:20: note: "M-1000" is no task of this ticket: kept as an external id`},
		{"d blocked by #12", "d <- #12", `4:20: note: "#12" is no task of this ticket: kept as an external id`},
		{"d blocked by acme/app#12", "d <- acme/app#12", `4:20: note: "acme/app#12" is no task of this ticket: kept as an external id`},
		{"Wait after the cache warms", "Wait after the cache warms", `4:12: note: "after the cache warms" is read as words, not as a dependency`},
		{"d (requires Playwright setup)", "d (requires Playwright setup)", `4:10: note: "requires Playwright setup)" is read as words, not as a dependency`},
		{"d after 2 days", "d after 2 days", `4:9: note: "after 2 days" is read as words, not as a dependency`},
		{"d after 1-2 days", "d after 1-2 days", `4:9: note: "after 1-2 days" is read as words, not as a dependency`},
		{"d after src/x.go changed", "d after src/x.go changed", `4:9: note: "after src/x.go changed" is read as words, not as a dependency`},
		{"look after", "look after", ""},
		{"thereafter T001", "thereafter T001", ""},
	} {
		var f []string
		if c.finding != "" {
			f = []string{c.finding}
		}
		dag, f := last("n04 "+c.want, f...)
		cases = append(cases, ruleCase{name: c.text, in: three + "- [ ] " + c.text + "\n", dag: dag, findings: f})
	}
	cases = append(cases, []ruleCase{
		{
			name: "lines below the box",
			in: lines("- [ ] 1.1 a", "- [ ] 1.2 b", "  - _Depends: 1.1_", "- [ ] 1.3 c", "  Depends on: 1.1, 1.2", "- [ ] 1.4 d",
				"  - **Depends on:** 1.1", "  - Blocked by 1.3", "- [ ] 1.5 e", "  - Dependencies: none", "- [ ] 1.6 f", "  - Depends on:", "    - 1.1", "    - 1.2"),
			dag: []string{"n01 1.1 a", "n02 1.2 b <- n01", "n03 1.3 c <- n01, n02", "n04 1.4 d <- n01, n03", "n05 1.5 e", "n06 1.6 f <- n01, n02"},
		},
		{
			name:     "a line below that names nothing is reported",
			in:       lines("- [ ] 1.1 a", "  - Depends on: the database"),
			dag:      []string{"n01 1.1 a"},
			findings: []string{`2:5: warning: "Depends on: the database" names no task`},
		},
		{
			name: "what follows the ids on a line below is reported",
			in:   lines("- [ ] 1.1 a", "- [ ] 1.2 b", "  Depends on: 1.1 and a good night's sleep"),
			dag:  []string{"n01 1.1 a", "n02 1.2 b <- n01"},
			findings: []string{
				`3:18: note: "and a good night's sleep" behind the ids is not read`,
			},
		},
		{
			name: "a clause that runs over the end of the line",
			in:   lines("- [ ] T001 a", "- [ ] T002 b", "- [ ] c depends on T001,", "  T002", "- [ ] d (after", "  T001)"),
			dag:  []string{"n01 T001 a", "n02 T002 b", "n03 c <- n01, n02", "n04 d <- n01"},
		},
		{
			name: "Obsidian ids",
			in:   lines("- [ ] first 🆔 ya44g5", "- [ ] second 🆔 Is-A_Valid ⛔ ya44g5", "- [ ] third [id:: x1] ⛔ Is-A_Valid", "- [ ] fourth depends on x1"),
			dag:  []string{"n01 first", "n02 second <- n01", "n03 third <- n02", "n04 fourth <- n03"},
		},
		{
			name:     "dependencies outside of any task are reported",
			in:       lines("- [ ] T001 a", "", "Depends on: T009", "", "**Blocked by**: WP01 (base)"),
			dag:      []string{"n01 T001 a"},
			findings: []string{"3:1: warning: dependencies stated outside of any task are not read"},
		},
	}...)
	runRules(t, cases)
}

func TestRule4_WhatADependencyResolvesTo(t *testing.T) {
	t.Parallel()
	runRules(t, []ruleCase{
		{
			name: "labels in every dress",
			in: lines("- [ ] **T001** a", "- [ ] [WP03] b", "- [ ] `A-3` c", "- [ ] 1.2. d", "- [ ] **Task 7:** e", "- [ ] 5) f",
				"- [ ] Step 9 — g", "- [ ] z depends on T001, WP03, A-3, 1.2, 7, 5 and 9"),
			dag: []string{
				"n01 **T001** a", "n02 [WP03] b", "n03 `A-3` c", "n04 1.2. d", "n05 **Task 7:** e", "n06 5) f", "n07 Step 9 — g",
				"n08 z <- n01, n02, n03, n04, n05, n06, n07",
			},
		},
		{
			name: "numbers where nothing is labelled",
			in:   lines("1. [ ] a", "2. [ ] b (depends on 1)", "3. [ ] c after #1, #2", "4. [ ] d depends on 1-3", "5. [ ] e after 2 days"),
			dag:  []string{"n01 a", "n02 b <- n01", "n03 c <- n01, n02", "n04 d <- n01, n02, n03", "n05 e after 2 days"},
			findings: []string{
				`5:10: note: "after 2 days" is read as words, not as a dependency`,
			},
		},
		{
			name: "a number is an issue where tasks are labelled",
			in:   lines("- [ ] T001 a", "- [ ] T002 b depends on #1"),
			dag:  []string{"n01 T001 a", "n02 T002 b <- #1"},
			findings: []string{
				`2:25: note: "#1" is no task of this ticket: kept as an external id`,
			},
		},
		{
			name: "local ids without a node are errors",
			in:   lines("- [ ] T001 a depends on T009", "- [ ] T002 b depends on n07", "- [ ] T003 c depends on n01-other", "- [ ] T004 d depends on T002-T009"),
			dag:  []string{"n01 T001 a", "n02 T002 b", "n03 T003 c", "n04 T004 d"},
			findings: []string{
				`1:25: error: there is no task "T009" in this ticket`,
				`2:25: error: there is no task "n07" in this ticket`,
				`3:25: error: there is no task "n01-other" in this ticket`,
				`4:25: error: range "T002-T009": no task carries the label at one of its ends`,
			},
		},
		{
			name: "a range takes the labels between its ends",
			in:   lines("- [ ] 1.1 a", "- [ ] 1.3 b", "- [ ] 2. g", "- [ ] 2.1 c", "- [ ] 3.1 d depends on 1.1-2.1"),
			dag:  []string{"n01 1.1 a", "n02 1.3 b", "n03 2. g", "n04 2.1 c", "n05 3.1 d <- n01, n02, n04"},
		},
		{
			name: "the same label twice",
			in:   lines("- [ ] T001 a", "- [ ] T001 b"),
			dag:  []string{"n01 T001 a", "n02 T001 b"},
			findings: []string{
				`2:1: error: label "T001" stands before 2 tasks`,
			},
		},
		{
			name: "a repeated word or list number is an error only where it is used",
			in:   lines("- [ ] S3 bucket", "- [ ] S3 policy", "", "## Other", "", "- [ ] **1.** a", "- [ ] **1.** b", "- [ ] z depends on S3"),
			dag:  []string{"n01 S3 bucket", "n02 S3 policy", "n03 **1.** a", "n04 **1.** b", "n05 z"},
			findings: []string{
				`7:1: warning: label "1" stands before 2 tasks`,
				`8:20: error: "S3" stands before 2 tasks`,
			},
		},
		{
			name: "every dependency on itself is a cycle",
			in:   lines("- [ ] T001 a depends on T001"),
			dag:  []string{"no DAG"},
			findings: []string{
				"1:1: error: dependency cycle detected in execution graph; unresolved nodes: n01-t001-a",
			},
		},
	})
}

func TestRule5_CleanTitles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"a  depends on X-1  ", "a"},
		{"a, depends on X-1", "a"},
		{"a - depends on X-1", "a"},
		{"a — (depends on X-1)", "a"},
		{"a and depends on X-1", "a"},
		{"a (b, depends on X-1)", "a (b)"},
		{"a (depends on X-1, then b)", "a (then b)"},
		{"a (depends on X-1) b", "a b"},
		{"a, after X-1, b", "a, b"},
		{"a depends on X-1. Then b", "a. Then b"},
		{"a _(depends on X-1)_", "a"},
		{"a **depends on X-1**", "a"},
		{"a  b", "a  b"}, // nothing cut, nothing changed
		{"Build, and after X-1 test", "Build, and test"},
		{"depends on X-1", "depends on X-1"},
	} {
		tk, _ := Parse("t.md", []byte("- [ ] "+c.in+"\n"), Options{})
		if got := tk.Tasks[0].Title; got != c.want {
			t.Errorf("%q: title %q, want %q", c.in, got, c.want)
		}
	}
}

func TestRule6_NestedItems(t *testing.T) {
	t.Parallel()
	runRules(t, []ruleCase{
		{
			name: "a parent waits for its children, they for what it waits for",
			in:   lines("- [ ] 1. Base", "- [ ] 2. Part depends on 1", "  - [ ] 2.1 a", "  - [ ] 2.2 b", "    - [ ] 2.2.1 c after 2.1", "- [ ] 3. End after 2"),
			dag: []string{
				"n01 1. Base", "n03 2.1 a <- n01", "n05 2.2.1 c <- n01, n03", "n04 2.2 b <- n01, n05 [group]",
				"n02 2. Part <- n01, n03, n04 [group]", "n06 3. End <- n02",
			},
		},
		{
			name: "a parent with text or a command of its own is a step",
			in: lines("- [ ] a", "  Check that they agree.", "  - [ ] a1", "- [ ] b", "  - [ ] b1", "", "  ```sh", "  make", "  ```",
				"- [ ] c", "  - _Requirements: 1.2_", "  - [ ] c1"),
			dag: []string{"n02 a1", "n01 a <- n02", "n04 b1", "n03 b <- n04", "n06 c1", "n05 c <- n06 [group]"},
		},
		{
			name: "boxes below plain bullets belong to the task above",
			in:   lines("- [ ] a", "  - details", "    - [ ] deep", "- plain", "  - [ ] top"),
			dag:  []string{"n02 deep", "n01 a <- n02", "n03 top"},
		},
		{
			name: "a parent that waits for its own child hands that down to none",
			in:   lines("- [ ] 1. p after 1.1", "  - [ ] 1.1 a", "  - [ ] 1.2 b"),
			dag:  []string{"n02 1.1 a", "n03 1.2 b", "n01 1. p <- n02, n03 [group]"},
		},
		{
			name: "a child that waits for its parent is a cycle",
			in:   lines("- [ ] 1. p", "  - [ ] 1.1 a after 1"),
			dag:  []string{"no DAG"},
			findings: []string{
				"1:1: error: dependency cycle detected in execution graph; unresolved nodes: n01-1-p, n02-1-1-a",
			},
		},
		{
			name:     "a ticked parent with open children",
			in:       lines("- [x] p", "  - [ ] a", "  - [x] b"),
			dag:      []string{"n02 a", "n03 b [done]", "n01 p <- n02, n03 [done group]"},
			findings: []string{"1:1: warning: 1 ticked task with nested tasks that are not"},
		},
	})
}

func TestRule8_States(t *testing.T) {
	t.Parallel()
	runRules(t, []ruleCase{
		{
			name: "all marks",
			in: lines("- [ ] a", "- [x] b", "- [X] c", "- [-] d", "- [~] e", "- [/] f", "- [✅] g", "- [✓] h", "- [✔️] i", "+ [ ] j", "* [ ] k",
				"7. [ ] l", "- [ ]* m", "- [?] n", "- [⚠️] o", "- [ ]p", "- [ ]"),
			dag: []string{
				"n01 a", "n02 b [done]", "n03 c [done]", "n04 d [cancelled]", "n05 e [deferred]", "n06 f", "n07 g [done]", "n08 h [done]",
				"n09 i [done]", "n10 j", "n11 k", "n12 l", "n13 m [optional]", "n14 p",
			},
			findings: []string{
				"4:1: note: 1 task cancelled ([-]): not run; what depends on them goes on",
				"5:1: note: 1 task deferred ([~]): not run; what depends on them waits",
				"14:1: warning: 2 boxes with an unknown mark: not steps",
				"16:1: note: no blank behind the box; read as a step all the same",
				"17:1: warning: 1 box without text: not steps",
			},
		},
		{
			name: "cancelled satisfies, deferred holds up",
			in:   lines("- [-] T1 a", "- [~] T2 b", "- [ ] c after T1", "- [ ] d after T2"),
			dag:  []string{"n01 T1 a [cancelled]", "n02 T2 b [deferred]", "n03 c <- n01", "n04 d <- n02"},
			findings: []string{
				"1:1: note: 1 task cancelled ([-]): not run; what depends on them goes on",
				"2:1: note: 1 task deferred ([~]): not run; what depends on them waits",
				"4:1: warning: 1 step cannot run: waiting for a deferred one",
			},
		},
		{
			name: "text on the next line, other white space behind the box",
			in:   lines("- [ ]", "  a", "- [ ]\tb", "- [ ]\u00a0c"),
			dag:  []string{"n01 a", "n02 b", "n03 c"},
		},
	})
}

func TestRule9_AcceptanceIsNotWork(t *testing.T) {
	t.Parallel()
	for _, heading := range []string{
		"## Acceptance", "### Acceptance Criteria", "## ✅ Acceptance Criteria", "# Definition of Done", "#### 4.2 Success criteria:",
		"## **Checklist for reviewers**", "## Acceptance Criteria (EARS)", "## Definition of done — all of it", "**Acceptance Criteria**:",
		"Acceptance criteria:", "Definition of Done\n------------------",
	} {
		src := "- [ ] work\n\n" + heading + "\n\n- [ ] it works\n- and well\n"
		tk, _ := Parse("t.md", []byte(src), Options{})
		if len(tk.Tasks) != 1 || len(tk.Acceptance) != 2 || tk.Acceptance[0] != "it works" || tk.Acceptance[1] != "and well" {
			t.Errorf("%q: %d tasks, acceptance %q", heading, len(tk.Tasks), tk.Acceptance)
		}
	}
	for _, heading := range []string{"## Acceptance tests to write", "## Tasks for the definition of done", "Acceptance criteria are in the wiki"} {
		tk, _ := Parse("t.md", []byte(heading+"\n\n- [ ] work\n"), Options{})
		if len(tk.Tasks) != 1 {
			t.Errorf("%q: %d tasks", heading, len(tk.Tasks))
		}
	}
	tk, _ := Parse("t.md", []byte("## Gate\n- [ ] g\n## Acceptance\n- [ ] a\n"), Options{AcceptanceHeadings: []string{"gate"}})
	if len(tk.Tasks) != 1 || tk.Tasks[0].Title != "a" || len(tk.Acceptance) != 1 {
		t.Errorf("own list of headings: %+v", tk)
	}
	runRules(t, []ruleCase{
		{
			name: "deeper headings stay acceptance, the next of its level ends it",
			in:   lines("### Acceptance", "- [ ] x", "#### Part", "- [ ] y", "### Work", "- [ ] a"),
			dag:  []string{"n01 a"},
			findings: []string{
				"2:1: note: 2 boxes under acceptance headings: criteria, not steps",
			},
		},
		{
			name: "a task's own criteria are neither steps nor children",
			in:   lines("- [ ] a", "  - **Acceptance:**", "    - [ ] fast", "  - [ ] a1"),
			dag:  []string{"n02 a1", "n01 a <- n02"},
			findings: []string{
				"3:5: note: 1 box under acceptance headings: criteria, not steps",
			},
		},
	})
}

func TestRule10_TiesByIndex(t *testing.T) {
	t.Parallel()
	d := must(t, string(largeTicket(120)), BuildOptions{})
	for i := range d.Nodes {
		if d.Nodes[i].Index != i+1 || d.Nodes[i].Order != i {
			t.Fatalf("place %d: node %s", i, d.Nodes[i].ID)
		}
	}
}

func TestRule11_FallbackSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, why string }{
		{"empty", "", "the ticket has no checklist line"},
		{"prose", "# T\n\nwords\n\n- item\n", "the ticket has no checklist line; 1 list item without a box"},
		{"acceptance only", "## Acceptance Criteria\n- [ ] a\n- [ ] b\n", "2 boxes, all under acceptance headings"},
		{"one box", "## Notes\n- [ ] a\n", `1 box, under "Notes"`},
		{"mixed", "```\n- [ ] a\n```\n## Description\n- [ ] b\n- [ ] c\n", `3 boxes: 1 in code fences, 2 under "Description"`},
		{"Tasks without a box", "## Tasks\n1. a\n2. b\n## More\n- [ ] c\n", "1 box, outside of the section Tasks; 2 list items without a box"},
	} {
		tk, _ := Parse("job.md", []byte(c.in), Options{})
		d, ds := Build(tk, BuildOptions{})
		if tk.NoTasks != c.why {
			t.Errorf("%s: reason %q, want %q", c.name, tk.NoTasks, c.why)
		}
		if len(ds) != 1 || ds[0].Detail != c.why || ds[0].Severity != "warning" {
			t.Errorf("%s: findings %v", c.name, ds)
		}
		if got := show(d); got != "job:single Execute the ticket objective as one step\n" || d.Nodes[0].Source != SourceFallback {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	runRules(t, []ruleCase{
		{
			name: "without a section Tasks everything is read but the excluded ones",
			in:   lines("- [ ] a", "## Plan", "- [ ] b", "## Notes", "- [ ] n", "### Sub", "- [ ] n2", "# Next", "- [ ] c", "### Notes", "- [ ] d"),
			dag:  []string{"n01 a", "n02 b", "n03 c", "n04 d"},
			findings: []string{
				`5:1: note: 2 boxes under "Notes": that section holds no steps`,
			},
		},
		{
			name: "with one only it is read, all of it",
			in:   lines("- [ ] x", "## tasks", "- [ ] a", "### Part", "- [ ] b", "### Acceptance", "- [ ] ok", "## Other", "- [ ] y", "## Tasks", "- [ ] c"),
			dag:  []string{"n01 a", "n02 b", "n03 c"},
			findings: []string{
				"1:1: warning: 2 boxes outside of the section Tasks: not steps",
				"7:1: note: 1 box under acceptance headings: criteria, not steps",
			},
		},
	})
}
