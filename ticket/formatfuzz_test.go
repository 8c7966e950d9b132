package ticket

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/fault"
)

// checkFormat holds a file to what is promised in every format, alone and as one
// of several.
func checkFormat(t tester, src []byte, format string) {
	t.Helper()
	before := bytes.Clone(src)
	tk, ds := Parse("fuzz.md", src, Options{Format: format})
	if !bytes.Equal(src, before) {
		t.Fatalf("the input was changed")
	}
	for _, x := range ds {
		if x.Code == fault.Internal {
			t.Fatalf("a reader panicked: %s", x.Detail)
		}
	}
	for i := range tk.Tasks {
		k := &tk.Tasks[i]
		if k.Index != i+1 || k.Line < 1 || k.Title == "" || k.Parent >= k.Index || k.State == "" {
			t.Fatalf("task %+v", k)
		}
	}
	for _, s := range tk.Sequences {
		for _, b := range s.Batches {
			for _, i := range b.Tasks {
				if i < 1 || i > len(tk.Tasks) {
					t.Fatalf("sequence %+v of %d tasks", s, len(tk.Tasks))
				}
			}
		}
	}
	d, more := Build(tk, BuildOptions{})
	if d == nil && !fault.HasErrors(more) {
		t.Fatalf("no DAG and no error")
	}
	if d != nil {
		checkDag(t, "fuzz as "+format, tk, d)
		for i := range d.Nodes {
			if n := &d.Nodes[i]; len(n.Reasons) != len(n.DependsOn) {
				t.Fatalf("%s waits for %q because of %v", n.ID, n.DependsOn, n.Reasons)
			}
		}
	}
	if !fault.HasErrors(ds) && len(ds) < maxFindings {
		if lost := unaccounted(src, tk, ds); len(lost) > 0 {
			t.Fatalf("as %s: boxes lost in lines %v", format, lost)
		}
	}
	whole, ds := ParseAll("folder", []Source{{"a.md", src}, {"b.md", []byte("---\nid: b\ndepends_on: fuzz\n---\n- [ ] b\n")}, {"fuzz.md", src}}, Options{Format: format})
	for _, x := range ds {
		if x.Code == fault.Internal {
			t.Fatalf("a reader panicked: %s", x.Detail)
		}
	}
	if all, more := Build(whole, BuildOptions{}); all != nil {
		checkDag(t, "folder as "+format, whole, all)
	} else if !fault.HasErrors(more) {
		t.Fatalf("no DAG of the folder and no error")
	}
}

func FuzzFormats(f *testing.F) {
	for k, s := range []string{
		"## Phase 1\n- [ ] T001 [P] [US1] a in src/a.go\n- [x] T002 [P] b\n- [ ] T003 c\n## Dependencies\n- T003 depends on T001-T002\n- Phase 1 before T001\n",
		"- [ ] 1. a\n- [ ] 1.1 (P) b\n  - _Requirements: 1_\n  - _Depends: 2_\n- [ ]* 1.2 (P) c\n- [~] 2 d\n```json\n{\"waves\":[{\"id\":1,\"tasks\":[\"1.1\",2]},{\"wave\":0,\"tasks\":[\"1.2\"]}]}\n```\n",
		"## 1. a\n- [ ] 1.1 a\n  - [-] 1.1.1 b\n## 2. b\n- [ ] 2.1 c after 1.1\n",
		"Depends on #4\n```[tasklist]\n- [ ] #1\n- [ ] o/r#2 x after #1\n```\n",
		"---\nid: T-1\ntitle: x\nstatus: Done\nlabels: []\nassignee: []\ndependencies: [T-2]\nparent_task_id: b\n---\n## Acceptance Criteria\n- [ ] #1 y\n",
		"> [!note]\n> - [?] #task a 🆔 x ⛔ y 📅 2026-01-01 🔁 every day\n\n- [ ] b 🆔 y [dependsOn:: z]\n",
	} {
		f.Add([]byte(s), uint8(k+2))
		f.Add([]byte(s), uint8(0))
	}
	f.Fuzz(func(t *testing.T, src []byte, format uint8) {
		names := Formats()
		checkFormat(t, src, names[int(format)%len(names)])
	})
}

// TestFormatFragments throws the pieces of all notations together.
func TestFormatFragments(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{
		"\n", "\n", "\n", "  ", "    ", "- [ ] ", "- [x] ", "- [~] ", "- [-] ", "- [ ]* ", "- [!] ", "> ", "- ", "# a\n", "## Phase 1: b\n", "## 2. c\n", "### d\n",
		"## Dependencies\n", "## Checklist\n", "```json\n", "```[tasklist]\n", "```\n", `{"waves":[{"id":0,"tasks":["1.1","2"]},{"id":1,"tasks":["1.2",1]}]}`, "\n",
		"T001 ", "T002 ", "T003 ", "[P] ", "[US1] ", "T001-T003", "1. ", "1.1 ", "1.2 ", "2 ", "(P) ", "_Requirements: 1_\n", "_Depends: 1.2_\n", " depends on ",
		" before ", " → ", " blocks ", "は", "をブロック", "依赖", "에 의존", "#1 ", "#2", "o/r#3 ", "🆔 x", "⛔ x", "📅 2026-01-01", "🔺", "#task ", "[dependsOn:: x]",
		"---\nid: x\ntitle: y\nstatus: Done\nlabels: []\nassignee: []\n---\n", "src/a.go ", "word ", "Phase 1", "US1", ", ",
	})
	formats := rapid.SampledFrom(Formats())
	rapid.Check(t, func(t *rapid.T) {
		checkFormat(t, []byte(strings.Join(rapid.SliceOfN(pieces, 0, 60).Draw(t, "pieces"), "")), formats.Draw(t, "format"))
	})
}

// TestAuthorsOrder: whatever is ticked, cancelled, deferred, marked and nested, waves keep
// the order of the list. See checkAuthorsOrder.
func TestAuthorsOrder(t *testing.T) {
	t.Parallel()
	compared := 0
	rapid.Check(t, func(rt *rapid.T) {
		format := rapid.SampledFrom([]string{FormatSpecKit, FormatKiro, FormatOpenSpec}).Draw(rt, "format")
		side := map[string]string{FormatSpecKit: "[P] ", FormatKiro: "(P) "}[format]
		var b strings.Builder
		n, major, minor := rapid.IntRange(1, 25).Draw(rt, "steps"), 0, 0
		for i := range n {
			if rapid.IntRange(0, 4).Draw(rt, "heading") == 0 {
				fmt.Fprintf(&b, "\n## Phase %d\n\n", i)
			}
			indent, label := "", fmt.Sprintf("T%03d", i+1)
			if format != FormatSpecKit {
				if major == 0 || rapid.IntRange(0, 2).Draw(rt, "major") == 0 {
					major, minor = major+1, 0
					label = fmt.Sprintf("%d.", major)
				} else {
					minor++
					label = fmt.Sprintf("%d.%d", major, minor)
					if format == FormatKiro && rapid.Bool().Draw(rt, "nested by Markdown") {
						indent = "  "
					}
				}
			}
			mark := rapid.SampledFrom([]string{" ", " ", " ", "x", "-", "/", "~"}).Draw(rt, "mark")
			fmt.Fprintf(&b, "%s- [%s] %s ", indent, mark, label)
			if side != "" && rapid.Bool().Draw(rt, "side") {
				b.WriteString(side)
			}
			fmt.Fprintf(&b, "do %d", i)
			if format == FormatSpecKit && i > 0 && rapid.IntRange(0, 3).Draw(rt, "declared") == 0 {
				fmt.Fprintf(&b, " (depends on T%03d)", rapid.IntRange(1, i).Draw(rt, "on"))
			}
			b.WriteByte('\n')
		}
		src := []byte(b.String())
		tk, ds := Parse("list.md", src, Options{Format: format})
		d, more := Build(tk, BuildOptions{})
		if ds = append(ds, more...); d == nil {
			rt.Fatalf("%s\n%s", src, showFindings(ds))
		}
		if fault.HasErrors(ds) {
			rt.Fatalf("%s\n%s", src, showFindings(ds))
		}
		compared += checkAuthorsOrder(rt, b.String(), src, tk, d, ds)
	})
	if compared < 100 {
		t.Errorf("only %d pairs of steps were compared", compared)
	}
}

// largeList writes n tasks in a notation, in parts of a tenth each.
func largeList(format string, n int) []byte {
	var b strings.Builder
	b.WriteString("# Large\n")
	for i := 1; i <= n; i++ {
		part, in := (i-1)*10/n+1, (i-1)%max(n/10, 1)
		if in == 0 {
			fmt.Fprintf(&b, "\n## Phase %d\n\n", part)
		}
		switch format {
		case FormatSpecKit:
			fmt.Fprintf(&b, "- [ ] T%05d [P] [US%d] Write part %d in src/pkg%d/file.go\n", i, part, i, i)
		case FormatKiro, FormatOpenSpec:
			if in == 0 {
				fmt.Fprintf(&b, "- [ ] %d. Part\n", part)
			}
			fmt.Fprintf(&b, "- [ ] %d.%d (P) Write it\n  - _Requirements: %d_\n", part, in+1, i)
		case FormatGitHub:
			fmt.Fprintf(&b, "- [ ] #%d after #%d\n", i+1, i)
		case FormatObsidian:
			fmt.Fprintf(&b, "- [ ] #task Write it 🆔 id%d ⛔ id%d 📅 2026-01-01\n", i, max(i-1, 0))
		default:
			fmt.Fprintf(&b, "- [ ] Write part %d\n", i)
		}
	}
	if format == FormatSpecKit {
		b.WriteString("\n## Dependencies\n\n")
		for i := 2; i <= n; i++ {
			fmt.Fprintf(&b, "- T%05d depends on T%05d\n- US%d depends on US1\n", i, i-1, i%10)
		}
	}
	return []byte(b.String())
}

// TestFormatsGrowLinearly compares allocations, which do not depend on the machine.
// Parts of five hundred steps side by side are followed by as many: written out,
// that would be a quarter of a million dependencies each.
func TestFormatsGrowLinearly(t *testing.T) {
	all := []string{FormatSpecKit, FormatKiro, FormatOpenSpec, FormatGitHub, FormatObsidian}
	if testing.Short() {
		all = all[:2]
	}
	for _, format := range all {
		allocs := func(n int) float64 {
			src := largeList(format, n)
			return testing.AllocsPerRun(1, func() {
				tk, ds := Parse("large.md", src, Options{Format: format})
				d, more := Build(tk, BuildOptions{})
				if d == nil || len(tk.Tasks) < n {
					t.Fatalf("%s: %d tasks\n%s", format, len(tk.Tasks), showFindings(append(ds, more...)))
				}
				d.Waves()
			})
		}
		small, large := allocs(500), allocs(5000)
		if ratio := large / small; ratio < 5 || ratio > 12 {
			t.Errorf("%s: allocations grow %.1f times for 10 times the tasks (%.0f to %.0f)", format, ratio, small, large)
		}
	}
}

func BenchmarkFormats10000(b *testing.B) {
	for _, format := range []string{FormatAmbit, FormatSpecKit, FormatKiro, FormatOpenSpec, FormatGitHub, FormatObsidian} {
		b.Run(format, func(b *testing.B) {
			src := largeList(format, 10_000)
			b.ReportAllocs()
			for b.Loop() {
				readSigns(newSource(src, DefaultMaxBytes, &report{}), "large.md") // what auto costs
				tk, _ := Parse("large.md", src, Options{Format: format})
				d, _ := Build(tk, BuildOptions{})
				d.ManifestHash()
			}
		})
	}
}

func BenchmarkSigns10000(b *testing.B) {
	src := newSource(largeTicket(10_000), DefaultMaxBytes, &report{})
	b.ReportAllocs()
	for b.Loop() {
		readSigns(src, "large.md")
	}
}
