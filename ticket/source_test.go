package ticket

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// one returns the only finding, which has to be an error.
func one(t *testing.T, ds []fault.Diagnostic) fault.Diagnostic {
	t.Helper()
	if len(ds) != 1 || ds[0].Severity != fault.SeverityError || ds[0].Code == "" {
		t.Fatalf("findings:\n%s", showFindings(ds))
	}
	return ds[0]
}

func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in  string
		opts      Options
		line, col int
		summary   string
		code      fault.Code
	}{
		{"too large", strings.Repeat("x", 101), Options{MaxBytes: 100}, 0, 0, "the ticket is larger than 100 bytes", fault.Invalid},
		{"not UTF-8", "- [ ] a\n- [ ] b\xffc\n", Options{}, 2, 8, "byte 0xff is not UTF-8", fault.Invalid},
		{"cut character", "é\xc3", Options{}, 1, 3, "byte 0xc3 is not UTF-8", fault.Invalid},
		{"too many lines", strings.Repeat("\r\n", MaxLines+1), Options{}, 0, 0, "the ticket has 250001 lines; the limit is 250000", fault.Invalid},
		{"NUL", "- [ ] a\n\x00", Options{}, 2, 1, "the ticket contains a NUL byte", fault.Invalid},
		{"UTF-16", "\xff\xfe-\x00 \x00", Options{}, 1, 1, "the ticket is UTF-16", fault.Invalid},
		{"unknown grammar", "- [ ] a\n", Options{Grammar: "loose"}, 0, 0, `grammar "loose" is not supported by this version`, fault.Unsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tk, ds := Parse("dir/job.md", []byte(c.in), c.opts)
			d := one(t, ds)
			if d.Line != c.line || d.Column != c.col || d.Summary != c.summary || d.Code != c.code || d.File != "dir/job.md" {
				t.Errorf("%+v", d)
			}
			if tk == nil || tk.ID != "job" || len(tk.Tasks) > 0 {
				t.Errorf("ticket %+v", tk)
			}
			if !fault.Is(AsError("parse", ds), c.code) {
				t.Errorf("error %v", AsError("parse", ds))
			}
		})
	}
}

// A file of 100 MB is refused by the limit and not looked at.
func TestHugeFileCostsNothing(t *testing.T) {
	huge := bytes.Repeat([]byte("- [ ] a\n"), 100<<20/8)
	_, ds := Parse("huge.md", huge, Options{})
	if d := one(t, ds); !strings.Contains(d.Summary, "larger than 8 MiB") || d.Hint == "" {
		t.Errorf("%+v", d)
	}
	if n := testing.AllocsPerRun(1, func() { Parse("huge.md", huge, Options{}) }); n > 100 {
		t.Errorf("%v allocations for a file that is refused", n)
	}
}

func TestTooManyTasks(t *testing.T) {
	t.Parallel()
	tk, ds := Parse("t.md", []byte("# t\n"+strings.Repeat("- [ ] a\n", MaxTasks+5)), Options{})
	if d := one(t, ds); len(tk.Tasks) != MaxTasks || d.Line != MaxTasks+2 {
		t.Errorf("%d tasks, %+v", len(tk.Tasks), d)
	}
}

// Line ends, tabs and a byte order mark change nothing that is read.
func TestEncodingsOfOneTicket(t *testing.T) {
	t.Parallel()
	src := "# T\n\n## Tasks\n- [ ] T1 a\n  - [ ] T2 b after T3\n    Notes.\n- [ ] T3 c\n  ```sh\n  make\n  ```\n## Acceptance\nworks\n"
	want := must(t, src, BuildOptions{})
	for name, v := range map[string]string{
		"CRLF":        strings.ReplaceAll(src, "\n", "\r\n"),
		"CR":          strings.ReplaceAll(src, "\n", "\r"),
		"BOM":         "\ufeff" + src,
		"BOM, CRLF":   "\ufeff" + strings.ReplaceAll(src, "\n", "\r\n"),
		"tabs":        strings.ReplaceAll(strings.ReplaceAll(src, "    Notes", "\t\tNotes"), "  - [ ]", "\t- [ ]"),
		"no last end": strings.TrimSuffix(src, "\n"),
	} {
		got := must(t, v, BuildOptions{})
		if got.ManifestHash() != want.ManifestHash() || show(got) != show(want) {
			t.Errorf("%s:\n%swant\n%s", name, show(got), show(want))
		}
		for i := range got.Nodes {
			if got.Nodes[i].Line != want.Nodes[i].Line || got.Nodes[i].Notes != want.Nodes[i].Notes {
				t.Errorf("%s: node %+v, want %+v", name, got.Nodes[i], want.Nodes[i])
			}
		}
	}
}

// TestC117_ParsingRewritesNothing: the bytes given are the bytes afterwards, and
// parsing them again gives the same.
func TestC117_ParsingRewritesNothing(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"\ufeff---\r\nid: X\r\ndepends_on: null\r\n---\r\n- [ ] a \t\r\n-[ ] b", "a\rb\r- [ ] c", "- [x] a\n\n\n", "```\n- [ ] unclosed",
	} {
		data := []byte(src)
		first, ds := Parse("t.md", data, Options{})
		if string(data) != src {
			t.Errorf("%q was changed to %q", src, data)
		}
		again, more := Parse("t.md", data, Options{})
		if a, b := toJSON(t, first), toJSON(t, again); a != b || showFindings(ds) != showFindings(more) {
			t.Errorf("%q: %s, then %s", src, a, b)
		}
	}
}

func TestTicketIDFromName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ticket.md": "ticket", "a/b/M-1002.task.md": "M-1002.task", "-": "stdin", "": "ticket", "/": "ticket", ".md": ".md",
		"a b.md": "a b", "x\ny.md": "xy", `c:\t\job.md`: "job", strings.Repeat("é", 200) + ".md": strings.Repeat("é", 100),
	} {
		if tk, _ := Parse(name, nil, Options{}); tk.ID != want {
			t.Errorf("%q: id %q, want %q", name, tk.ID, want)
		}
	}
}

func TestNestingLimit(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		b.WriteString(strings.Repeat("  ", i) + "- [ ] a\n")
	}
	for name, src := range map[string]string{
		"lists":  "# t\n" + b.String(),
		"lines":  "# t\n" + strings.Repeat("- ", 30) + "a" + strings.Repeat("\n", 90_000),
		"nodes":  "# t\n" + strings.Repeat(strings.Repeat("- ", 30)+"a\n", 17_000),
		"quotes": "# t\n" + strings.Repeat(">", 100_000) + " a\n",
		"line":   "# t\n" + strings.Repeat("- ", 100_000) + "a\n",
	} {
		_, ds := Parse("t.md", []byte(src), Options{})
		var found bool
		for _, d := range ds {
			found = found || d.Severity == fault.SeverityError && (strings.Contains(d.Summary, "nested more than 32 deep") || strings.Contains(d.Summary, "too many nested lists"))
		}
		if !found {
			t.Errorf("%s: findings:\n%s", name, showFindings(ds))
		}
	}
}

// Files made to cost time finish: none of these takes more than linear work. The
// test would run into its timeout otherwise.
func TestHostileShapes(t *testing.T) {
	t.Parallel()
	n := 50_000
	if testing.Short() {
		n = 10_000
	}
	for name, src := range map[string]string{
		"blank lines in nested lists": strings.Repeat("- ", 30) + "a" + strings.Repeat("\n", n),
		"backticks of all lengths":    "- [ ] " + hostileTicks(600),
		"keywords":                    "- [ ] " + strings.Repeat("after ", n),
		"clauses":                     "- [ ] a" + strings.Repeat(" after b-1", n/10),
		"open lists":                  strings.Repeat("- [ ] a depends on\n", n/10),
		"comments":                    "- [ ] " + strings.Repeat("<!-- ", n),
		"brackets":                    "- [ ] " + strings.Repeat("[(", n),
		"remarks":                     "- [ ] a after " + strings.Repeat("b-1 (x), ", n/10),
		"continued lines":             "- [ ] a after\n" + strings.Repeat("  b-1,\n", n/10),
		"headings":                    strings.Repeat("## Notes\n- [ ] a\n", n/10),
		"distinct headings":           hostileHeadings(n / 2),
		"front matter":                "---\n" + strings.Repeat("a: [", 10_000) + "\n---\n",
		"front matter keys":           "---\n" + strings.Repeat("scope: a\n", 6000) + "---\n",
		"ids in front matter":         "---\ndepends_on: [" + strings.Repeat("a1,", 20_000) + "]\n---\n- [ ] a\n",
		"fences":                      strings.Repeat("- [ ] a\n  ```sh\n", n/10),
		"one long line":               "- [ ] " + strings.Repeat("word ", n),
	} {
		t.Run(name, func(t *testing.T) {
			tk, _ := Parse("t.md", []byte(src), Options{})
			Build(tk, BuildOptions{Sequential: true})
		})
	}
}

// The largest files that are read, in the shapes that make the largest trees,
// stay within a memory that a small machine has.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: parses three files at the limits")
	}
	fill := func(line string) string {
		return strings.Repeat(line, min(MaxLines-1, DefaultMaxBytes/len(line)))
	}
	for name, src := range map[string]string{
		"boxes": fill("- [ ] a\n"), "nested": fill(strings.Repeat("- ", 31) + "a\n"), "blank": strings.Repeat("- ", 30) + "a" + fill("\n"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tk, _ := Parse("t.md", []byte(src), Options{})
		Build(tk, BuildOptions{})
		runtime.ReadMemStats(&after)
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 1500 {
			t.Errorf("%s: %d MB allocated in total", name, mb)
		} else {
			t.Logf("%s: %d MB allocated in total", name, mb)
		}
	}
}

func hostileTicks(n int) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		b.WriteString(strings.Repeat("`", i) + " ")
	}
	return b.String()
}

func hostileHeadings(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("## Notes " + strings.Repeat("#", i%7) + "\n- [ ] a\n## Notes\n- [ ] b\n")
	}
	return b.String()
}

// Ranges and nesting multiply dependencies; the DAG's size is bounded before it
// is built.
func TestTooManyEdges(t *testing.T) {
	t.Parallel()
	base := strings.Repeat("- [ ] base\n", 1000)
	ranges := base + strings.Repeat("- [ ] a depends on n1-n1000\n", 1000)
	nested := base + "- [ ] p depends on n1-n1000\n" + strings.Repeat("  - [ ] c\n", 1000)
	for name, src := range map[string]string{"ranges": ranges, "inherited": nested} {
		tk, ds := Parse("t.md", []byte("# t\n"+src), Options{})
		_, more := Build(tk, BuildOptions{})
		d := one(t, append(ds, more...))
		if !strings.Contains(d.Summary, "more than 250000 dependencies") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
