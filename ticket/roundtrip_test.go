package ticket

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/fault"
)

// outlined is one task of a ticket that is to be rendered.
type outlined struct {
	label, title string
	state        State
	optional     bool
	depth        int
	deps         []int // indices, 1-based
	notes        []string
	command      string
	shell        string
}

var marks = map[State][]string{
	StateTodo: {" "}, StateDone: {"x", "X", "✅", "✓"}, StateCancelled: {"-"}, StateDeferred: {"~"}, StateDoing: {"/"},
}

func drawOutline(t *rapid.T) []outlined {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{
		"write", "the", "server", "für", "数", "(fast)", "`code - x`", "a/b.go", "version", "and", "–", "[P]", "**bold**", "requires", "it's", "C++",
	}), 1, 6)
	n := rapid.IntRange(1, 8).Draw(t, "n")
	var out []outlined
	depth := 0
	for i := 1; i <= n; i++ {
		o := outlined{
			label: fmt.Sprintf("T%03d", i*7),
			title: strings.Join(words.Draw(t, "words"), " ") + " end",
			state: rapid.SampledFrom([]State{StateTodo, StateTodo, StateDone, StateCancelled, StateDeferred, StateDoing}).Draw(t, "state"),
		}
		if i > 1 {
			depth = rapid.IntRange(0, min(depth+1, 4)).Draw(t, "depth")
			o.deps = rapid.SliceOfNDistinct(rapid.IntRange(1, i-1), 0, min(i-1, 3), rapid.ID[int]).Draw(t, "deps")
		}
		o.depth = depth
		o.optional = rapid.IntRange(0, 4).Draw(t, "optional") == 0
		o.notes = rapid.SliceOfN(rapid.SampledFrom([]string{"A note.", "Second, with `code`", "- a bullet", "see a/b.go"}), 0, 2).Draw(t, "notes")
		if rapid.IntRange(0, 3).Draw(t, "has command") == 0 {
			o.shell = rapid.SampledFrom([]string{ShellSh, ShellBash}).Draw(t, "shell")
			o.command = rapid.SampledFrom([]string{"make", "make \\\n  all", "cat <<E\n- [ ] x\n\nE", "\ttabbed", "echo \"a\"  # b"}).Draw(t, "command")
		}
		out = append(out, o)
	}
	return out
}

// render writes the outline in one of the many ways that mean the same.
func render(t *rapid.T, tasks []outlined) string {
	var b strings.Builder
	bullet := rapid.SampledFrom([]string{"-", "*", "+"}).Draw(t, "bullet")
	for _, o := range tasks {
		in := strings.Repeat("  ", o.depth)
		star := ""
		if o.optional {
			star = "*"
		}
		fmt.Fprintf(&b, "%s%s [%s]%s %s %s", in, bullet, rapid.SampledFrom(marks[o.state]).Draw(t, "mark"), star, o.label, o.title)
		below := ""
		if len(o.deps) > 0 {
			var ids []string
			for _, d := range o.deps {
				ids = append(ids, rapid.SampledFrom([]string{tasks[d-1].label, strings.ToLower(tasks[d-1].label), fmt.Sprintf("n%02d", d)}).Draw(t, "id"))
			}
			list := strings.Join(ids, ", ")
			switch rapid.IntRange(0, 6).Draw(t, "notation") {
			case 0:
				b.WriteString(" depends on " + list)
			case 1:
				b.WriteString(" (depends on: " + list + ")")
			case 2:
				b.WriteString(", blocked by " + strings.Join(ids, " and "))
			case 3:
				b.WriteString(" after `" + strings.Join(ids, "`, `") + "`")
			case 4:
				b.WriteString(" [dependsOn:: " + list + "]")
			case 5:
				below = in + "  Depends on: " + list + "\n"
			case 6:
				below = in + "  - _Depends: " + list + "_\n"
			}
		}
		b.WriteString("\n" + below)
		for i, note := range o.notes {
			if !strings.HasPrefix(note, "-") && (i > 0 || below != "") {
				b.WriteString("\n") // a paragraph of its own
			}
			b.WriteString(in + "  " + note + "\n")
		}
		if o.command != "" {
			b.WriteString("\n" + in + "  ```" + o.shell + "\n")
			for l := range strings.SplitSeq(o.command, "\n") {
				if l != "" {
					l = in + "  " + l
				}
				b.WriteString(l + "\n")
			}
			b.WriteString(in + "  ```\n")
		}
		if rapid.Bool().Draw(t, "blank") {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// TestC117_RenderedTicketsReadBack: whatever of the many ways a ticket is written
// in, what it says is read, all of it.
func TestC117_RenderedTicketsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tasks := drawOutline(t)
		src := "# Objective\n\n" + render(t, tasks)
		if rapid.Bool().Draw(t, "crlf") {
			src = strings.ReplaceAll(src, "\n", "\r\n")
		}
		if rapid.Bool().Draw(t, "bom") {
			src = "\ufeff" + src
		}
		tk, ds := Parse("t.md", []byte(src), Options{})
		if fault.HasErrors(ds) || len(tk.Tasks) != len(tasks) {
			t.Fatalf("%d tasks of %d\n%s\n%s", len(tk.Tasks), len(tasks), showFindings(ds), src)
		}
		var parents []int // by depth
		for i, want := range tasks {
			got := tk.Tasks[i]
			parents = append(parents[:want.depth], i+1)
			parent := 0
			if want.depth > 0 {
				parent = parents[want.depth-1]
			}
			var deps []int
			for _, r := range got.DependsOn {
				deps = append(deps, r.Task)
			}
			var notes []string
			if got.Notes != "" {
				notes = strings.Split(got.Notes, "\n")
			}
			if got.Title != want.label+" "+want.title || got.Label != want.label || got.State != want.state || got.Optional != want.optional ||
				got.Parent != parent || !slices.Equal(deps, want.deps) || got.Command != want.command || got.Shell != want.shell ||
				!slices.Equal(notes, want.notes) {
				t.Fatalf("task %d:\n got %+v\nwant %+v\nin\n%s", i+1, got, want, src)
			}
		}
		if lost := unaccounted([]byte(src), tk, ds); len(lost) > 0 {
			t.Fatalf("boxes lost in lines %v of\n%s", lost, src)
		}
	})
}
