package ticket

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// kinds are the formats that a kind of file of the corpus may be taken for.
var kinds = map[string][]string{
	"spec-kit": {FormatSpecKit}, "spec-kit-crlf": {FormatSpecKit}, "spec-kit-ja": {FormatSpecKit}, "derived-spec-kit-nNN": {FormatSpecKit},
	"kiro": {FormatKiro}, "kiro-ja": {FormatKiro}, "derived-self": {FormatKiro}, "derived-full-ids": {FormatKiro},
	"openspec": {FormatOpenSpec, FormatAmbit}, "backlog-md": {FormatBacklog}, "obsidian": {FormatObsidian, FormatAmbit},
	"derived-chain": {FormatObsidian}, "spec-kitty-tasks": {FormatSpecKit, FormatAmbit}, "agent-plan": {FormatAmbit, FormatOpenSpec},
}

// TestCorpusFormats: every file, read as what it is taken for and as anything else,
// loses no box and gives a sound DAG or an error; and each kind is recognised.
func TestCorpusFormats(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	recognised := map[string]int{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		for _, f := range Formats() {
			tk, ds := Parse(name, src, Options{Format: f})
			d, more := Build(tk, BuildOptions{})
			ds = append(ds, more...)
			if lost := unaccounted(src, tk, ds); len(lost) > 0 {
				t.Errorf("%s as %s: boxes in lines %v are no tasks and in no finding", name, f, lost)
			}
			if d == nil && !fault.HasErrors(ds) {
				t.Errorf("%s as %s: no DAG and no error", name, f)
			}
			if d != nil {
				checkDag(t, name+" as "+f, tk, d)
			}
			for _, n := range undeclared(src, tk, d, ds) {
				t.Errorf("%s as %s: the dependency in line %d is no edge and in no finding", name, f, n)
			}
			if f != FormatAuto {
				continue
			}
			recognised[tk.Format]++
			kind := strings.TrimSuffix(name[4:], ".md")
			may := kinds[kind]
			if may == nil {
				may = []string{FormatAmbit}
			}
			if !slices.Contains(may, tk.Format) {
				t.Errorf("%s is taken for %s: %s", name, tk.Format, tk.FormatWhy)
			}
			if said := slices.ContainsFunc(ds, func(x fault.Diagnostic) bool { return strings.HasPrefix(x.Summary, "read as "+tk.Format) }); said != (tk.Format != FormatAmbit) || tk.FormatWhy == "" {
				t.Errorf("%s: taken for %s, said %v, why %q", name, tk.Format, said, tk.FormatWhy)
			}
			checkAuthorsOrder(t, name, src, tk, d, ds)
		}
	}
	t.Logf("recognised: %v", recognised)
	for f, least := range map[string]int{FormatSpecKit: 8, FormatKiro: 8, FormatOpenSpec: 4, FormatBacklog: 9, FormatObsidian: 8} {
		if recognised[f] < least {
			t.Errorf("%d files taken for %s, want at least %d", recognised[f], f, least)
		}
	}
}

// statesID is a dependency that names what is certainly an id, as a person would
// look for it.
var (
	statesID   = regexp.MustCompile(`(?:⛔\x{fe0f}? *|\[dependsOn:: *|(?i:\bdepends on:? +|\bblocked by:? +)|_Depends: *)(T[0-9]{3}\b|[0-9]+\.[0-9]+\b|[A-Za-z0-9_-]+[0-9][A-Za-z0-9_-]*)`)
	orderLine  = regexp.MustCompile(`\bT[0-9]{3}[^.;|]{0,60}?(?:depends on|blocks|before|→|->|をブロック)[^.;|]{0,60}?T[0-9]{3}\b|\bT[0-9]{3}は[^.]{0,40}T[0-9]{3}をブロック`)
	depHeading = regexp.MustCompile(`(?i)^#{1,6} .*(?:dependenc|依存|依赖|의존)`)
	anyHeading = regexp.MustCompile(`^(#{1,6}) `)
)

// undeclared returns the lines with a dependency that is in no edge of the DAG and
// in no finding: in boxes for every format, in sections of dependencies for those
// that read them.
func undeclared(src []byte, tk *Ticket, d *Dag, ds []fault.Diagnostic) (lost []int) {
	if d == nil {
		return nil // an error says it all
	}
	known := map[int]bool{}
	for i := range tk.Tasks {
		for _, r := range tk.Tasks[i].DependsOn {
			known[r.Line] = true
		}
	}
	for i := range d.Nodes {
		for _, r := range d.Nodes[i].Reasons {
			known[r.Line] = true
		}
	}
	for _, s := range tk.Sequences {
		for _, b := range s.Batches {
			known[b.Why.Line] = true // of a task that is done, nothing is left to wait for
		}
	}
	for _, x := range ds {
		known[x.Line] = true
		for _, m := range inLines.FindAllStringSubmatch(x.Detail, -1) {
			for r := range strings.SplitSeq(m[1], ", ") {
				from, to, ok := strings.Cut(strings.TrimSpace(r), "-")
				if !ok {
					to = from
				}
				a, _ := strconv.Atoi(from)
				b, _ := strconv.Atoi(to)
				for n := a; n <= b; n++ {
					known[n] = true
				}
			}
		}
	}
	task := map[int]bool{}
	for i := range tk.Tasks {
		task[tk.Tasks[i].Line] = !tk.Tasks[i].Boxless
	}
	level, fenced := 0, false // of the section of dependencies we are in
	for k, line := range strings.Split(strings.TrimPrefix(string(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))), "\ufeff"), "\n") {
		n := k + 1
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if m := anyHeading.FindStringSubmatch(line); m != nil && !fenced {
			if level == 0 || len(m[1]) <= level {
				level = 0
				if depHeading.MatchString(line) {
					level = len(m[1])
				}
			}
		}
		if task[n] && statesID.MatchString(line) && !known[n] {
			lost = append(lost, n)
		}
		if tk.Format == FormatSpecKit && level > 0 && !known[n] && orderLine.MatchString(line) && !strings.Contains(line, "parallel") {
			lost = append(lost, n)
		}
	}
	return lost
}

// checkAuthorsOrder holds the waves of a file against the order its author wrote
// down, which is worked out here from the lines of the file and nothing else.
//
// Steps that follow each other at one level of nesting, under one heading, and are
// marked to be done side by side ([P] in Spec Kit, (P) in Kiro) form a run; every
// other step is a run of its own. Of two steps that the file leaves to run, neither
// nested in the other, look at where they part: at the two steps, beside each other
// at one level, in which they lie or which they are. If these are of different runs,
// the step that stands first in the list is in an earlier wave than the other.
//
// It is not asked of files in which a declared dependency moves a step behind a
// later one, or which have a table of waves; then the declared dependencies hold,
// which checkDag sees to. Formats whose list has no order of its own (GitHub,
// Obsidian, ambit) promise nothing else either.
func checkAuthorsOrder(t tester, name string, src []byte, tk *Ticket, d *Dag, ds []fault.Diagnostic) (compared int) {
	t.Helper()
	mark := map[string]*regexp.Regexp{
		FormatSpecKit: regexp.MustCompile(`\] +T[0-9]+\S* (?:\[[^\]]+\] )*\[P\]`), FormatKiro: regexp.MustCompile(`\(P\)`), FormatOpenSpec: regexp.MustCompile(`^$`),
	}[tk.Format]
	if mark == nil || d == nil {
		return 0
	}
	for _, x := range ds {
		if strings.Contains(x.Summary, "moved behind a later") || strings.Contains(x.Summary, "table of waves") {
			return 0
		}
	}
	wave := map[string]int{}
	for k, ids := range d.Waves() {
		for _, id := range ids {
			wave[id] = k + 1
		}
	}
	lines := strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")
	headings, heading, fenced := make([]int, len(lines)), 0, false
	for k, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && anyHeading.MatchString(line) {
			heading = k
		}
		headings[k] = heading
	}
	run := make([]int, len(tk.Tasks)+1) // of each task, by index
	last := map[int]*Task{}             // the task before at a level, by parent
	var open []*Task
	for i := range tk.Tasks {
		k := &tk.Tasks[i]
		run[k.Index] = k.Index
		if p := last[k.Parent]; p != nil && mark.MatchString(lines[k.Line-1]) && mark.MatchString(lines[p.Line-1]) && headings[k.Line-1] == headings[p.Line-1] {
			run[k.Index] = run[p.Index]
		}
		last[k.Parent] = k
		if wave[k.ID] > 0 {
			open = append(open, k)
		}
	}
	way := func(i int) (up []int) { // from the top down
		for ; i > 0; i = tk.Tasks[i-1].Parent {
			up = append([]int{i}, up...)
		}
		return up
	}
	for k, b := range open {
		for _, a := range open[:k] {
			x, y := way(a.Index), way(b.Index)
			at := 0
			for at < len(x) && at < len(y) && x[at] == y[at] {
				at++
			}
			if at == len(x) || at == len(y) || run[x[at]] == run[y[at]] {
				continue
			}
			if compared++; wave[a.ID] >= wave[b.ID] {
				t.Errorf("%s as %s: line %d stands before line %d in the list, and in wave %d against %d", name, tk.Format, a.Line, b.Line, wave[a.ID], wave[b.ID])
				return compared
			}
		}
	}
	return compared
}
