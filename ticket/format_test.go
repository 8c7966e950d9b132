package ticket

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/fault"
)

var update = flag.Bool("update", false, "write the expected DAGs of testdata/formats anew")

// showPlan renders what a file or folder was read as: its format, its DAG with the
// reason of each edge, its waves and its findings.
func showPlan(tk *Ticket, d *Dag, ds []fault.Diagnostic) string {
	var b strings.Builder
	b.WriteString("format " + tk.Format + "\n\n" + show(d) + "\n")
	if d != nil {
		for _, e := range d.Edges() {
			b.WriteString(shortID(e.From) + " <- " + shortID(e.To) + ": " + e.Why + "\n")
		}
		b.WriteString("\n")
		for _, w := range d.Waves() {
			ids := make([]string, len(w))
			for i := range w {
				ids[i] = shortID(w[i])
			}
			b.WriteString("wave " + strings.Join(ids, " ") + "\n")
		}
		for i := range d.Nodes {
			if n := &d.Nodes[i]; len(n.Files)+len(n.Tests) > 0 {
				b.WriteString("files " + shortID(n.ID) + ": " + strings.Join(append(slices.Clone(n.Files), n.Tests...), " ") + "\n")
			}
		}
		for _, a := range d.Acceptance {
			b.WriteString("accepted when " + a + "\n")
		}
		b.WriteString("\n")
	}
	for _, x := range ds {
		if x.File = strings.TrimPrefix(x.File, tk.File+"/"); x.File == tk.File {
			x.File = ""
		}
		b.WriteString(strings.TrimSpace(x.String()) + "\n")
		if x.Detail != "" {
			b.WriteString("    " + x.Detail + "\n")
		}
	}
	return b.String()
}

// shortID shortens n02-slug, also behind the prefix of a file.
func shortID(id string) string {
	prefix, rest, ok := strings.Cut(id, ":n")
	if ok {
		n, _, _ := strings.Cut(rest, "-")
		return prefix + ":n" + n
	}
	if len(id) > 3 && id[0] == 'n' && isDigit(id[1]) {
		id, _, _ = strings.Cut(id, "-")
	}
	return id
}

// TestFormats: each file of testdata/formats is recognised and gives exactly the
// DAG beside it. Run with -update after looking at the difference.
func TestFormats(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/formats/*.md")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tk, ds := Parse(name, src, Options{Format: FormatAuto})
			d, more := Build(tk, BuildOptions{})
			ds = append(ds, more...)
			golden(t, strings.TrimSuffix(name, ".md")+".want", showPlan(tk, d, ds))
			if !strings.HasPrefix(filepath.Base(name), tk.Format) {
				t.Errorf("read as %s: %s", tk.Format, tk.FormatWhy)
			}
			if lost := unaccounted(src, tk, ds); len(lost) > 0 {
				t.Errorf("boxes lost in lines %v", lost)
			}
			// Asked for by name it is the same, but for the note that says what was guessed.
			named, again := Parse(name, src, Options{Format: tk.Format})
			named.FormatWhy = tk.FormatWhy
			if diff := cmp.Diff(toJSON(t, tk), toJSON(t, named)); diff != "" || len(again) != len(ds)-len(more)-1 {
				t.Errorf("--format %s (-auto +named), %d findings for %d:\n%s", tk.Format, len(again), len(ds), diff)
			}
		})
	}
}

// TestFolders: the folders of testdata/formats are one plan each.
func TestFolders(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"backlog-folder", "tickets-folder"} {
		tk, ds := ParseAll("testdata/formats/"+dir, folder(t, "testdata/formats/"+dir), Options{Format: FormatAuto})
		d, more := Build(tk, BuildOptions{})
		if d == nil {
			t.Fatalf("%s:\n%s", dir, showFindings(append(ds, more...)))
		}
		checkDag(t, dir, tk, d)
		golden(t, "testdata/formats/"+dir+".want", showPlan(tk, d, append(ds, more...)))
	}
}

func folder(t *testing.T, dir string) (sources []Source) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.md")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, Source{f, data})
	}
	return sources
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestDocumentedFormats: the examples of other notations in docs/tickets.md are
// taken for what the document says and give its steps, and every format is named.
func TestDocumentedFormats(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/tickets.md")
	if err != nil {
		t.Fatal(err)
	}
	rest, n := string(doc), 0
	for {
		_, after, ok := strings.Cut(rest, "\n````markdown ")
		if !ok {
			break
		}
		format, after, _ := strings.Cut(after, "\n")
		src, after, _ := strings.Cut(after, "````\n")
		_, steps, _ := strings.Cut(after, "```text steps\n")
		steps, rest, _ = strings.Cut(steps, "```\n")
		n++
		tk, ds := Parse("tasks.md", []byte(src), Options{Format: FormatAuto})
		d, more := Build(tk, BuildOptions{})
		if tk.Format != format || len(ds)+len(more) != 1 {
			t.Errorf("read as %s, not %s\n%s", tk.Format, format, showFindings(append(ds, more...)))
		}
		if diff := cmp.Diff(steps, show(d)); diff != "" {
			t.Errorf("%s (-document +read):\n%s", format, diff)
		}
	}
	if n < 2 {
		t.Errorf("only %d examples found", n)
	}
	for _, f := range Formats() {
		if !strings.Contains(string(doc), "| `"+f+"` |") && f != FormatAuto && f != FormatAmbit {
			t.Errorf("format %s is not documented", f)
		}
	}
}

// TestUnknownFormats: a format that is not there is refused, and so is one that the
// grammar cannot read.
func TestUnknownFormats(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Format: "org"}, {Format: FormatKiro, Grammar: GrammarLiteral}, {Format: FormatAmbit, Grammar: GrammarLiteral}} {
		tk, ds := Parse("t.md", []byte("# t\n- [ ] a\n"), o)
		if len(ds) != 1 || ds[0].Code != fault.Unsupported || len(tk.Tasks) > 0 {
			t.Errorf("%+v: %d tasks\n%s", o, len(tk.Tasks), showFindings(ds))
		}
	}
	if _, ds := Parse("t.md", []byte("# t\n- [ ] a\n"), Options{Format: FormatAuto, Grammar: GrammarLiteral}); fault.HasErrors(ds) {
		t.Error(showFindings(ds))
	}
}

// TestGitHubOwnBox: an issue that is a box here is a step, not what the issue as a
// whole waits for.
func TestGitHubOwnBox(t *testing.T) {
	t.Parallel()
	src := "Depends on #12\n\n- [ ] #12\n- [ ] #13\n"
	tk, ds := Parse("issue.md", []byte(src), Options{Format: FormatGitHub})
	got := showFindings(ds)
	if len(tk.DependsOn) != 0 || strings.Contains(got, "as a whole") || !strings.Contains(got, "#12 is the box in line 3") {
		t.Errorf("waits for %q\n%s", tk.DependsOn, got)
	}
	tk, ds = Parse("issue.md", []byte("Depends on #12, #7\n\n"+src[16:]), Options{Format: FormatGitHub})
	got = showFindings(ds)
	if !slices.Equal(tk.DependsOn, []string{"#7"}) || !strings.Contains(got, "as a whole waits for #7") || !strings.Contains(got, "#12 is the box in line 3") {
		t.Errorf("waits for %q\n%s", tk.DependsOn, got)
	}
}
