package ticket

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// statedDep is what a person takes for a stated dependency: a box, or a line that
// says nothing else, and behind the keyword an id with a digit in it. It is
// written down here a second time, so that the parser does not judge itself.
var statedDep = regexp.MustCompile(`(?i)(?:^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[.\]\*?[ \t].*\b(?:depends on|blocked by|requires|after)|^[ \t]*(?:[-*+] )?[*_]*(?:depends(?: on)?|dependencies|blocked by)[*_]*:)[*_:]*[ \t]+` +
	"[`*\\[#]*" + `((?:[A-Z]{1,4}-?)?\d+(?:\.\d+)*)\b(.*)`)

var keyworded = regexp.MustCompile(`(?i)depend|blocked|requires|after`)

// TestCorpusDependenciesAreEdgesOrFindings: every dependency that the files of the
// corpus state is an edge of the DAG, or there is a finding about its line.
func TestCorpusDependenciesAreEdgesOrFindings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	readings := []string{FormatAmbit, FormatAuto}
	if testing.Short() {
		readings = readings[1:]
	}
	stated, edges := 0, 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range readings {
			tk, ds := Parse(name, src, Options{Format: format})
			d, more := Build(tk, BuildOptions{})
			ds = append(ds, more...)
			if d == nil && !fault.HasErrors(ds) {
				t.Fatalf("%s: no DAG and no error", filepath.Base(name))
			}
			said := mentioned(ds)
			text := strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), "\r\n", "\n")
			for i, line := range strings.Split(text, "\n") {
				if !keyworded.MatchString(line) { // quicker than the whole
					continue
				}
				m := statedDep.FindStringSubmatch(line)
				if m == nil || said[i+1] || counts(m[2]) {
					continue
				}
				stated++
				if !slices.Contains(tk.DependsOn, m[1]) && !hasRef(tk, i+1, m[1]) {
					t.Errorf("%s:%d (%s): %q is neither a dependency nor reported: %.120s", filepath.Base(name), i+1, format, m[1], line)
					continue
				}
				edges++
			}
		}
	}
	t.Logf("%d files, %d dependencies stated, %d of them edges, the rest reported", len(files), stated, edges)
	if edges == 0 {
		t.Error("no dependency was found")
	}
}

// counts reports whether what follows a number is what it counts: "after 3 days".
func counts(rest string) bool { return counted.MatchString(rest) }

var counted = regexp.MustCompile(`^[ -]*(?:[a-z%]|\d)`)

func hasRef(tk *Ticket, line int, id string) bool {
	for i := range tk.Tasks {
		for _, r := range tk.Tasks[i].DependsOn {
			if r.Line == line && strings.Contains(strings.ToLower(r.Written), strings.ToLower(id)) {
				return true
			}
		}
	}
	return false
}

// mentioned returns the lines that findings speak of.
func mentioned(ds []fault.Diagnostic) map[int]bool {
	known := map[int]bool{}
	for _, d := range ds {
		known[d.Line] = true
		for _, n := range linesIn(d.Detail) {
			known[n] = true
		}
	}
	return known
}
