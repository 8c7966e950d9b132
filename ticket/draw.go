package ticket

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// drawing is what DOT and Mermaid have in common: nodes by number, then the ids
// outside of the DAG that steps wait for.
type drawing struct {
	dag   *Dag
	outer []string       // external ids, in the order they appear
	index map[string]int // of outer
}

func newDrawing(d *Dag) *drawing {
	w := &drawing{dag: d, index: map[string]int{}}
	w.edges(func(_, _ int) {}, func(_, _ int) {})
	return w
}

// edges calls inside with every edge between nodes and outside with every edge to
// an external id; both get the number of the node that waits first.
func (w *drawing) edges(inside, outside func(from, to int)) {
	known := make(map[string]bool, len(w.dag.Nodes))
	tasks := 0
	for i := range w.dag.Nodes {
		known[w.dag.Nodes[i].ID] = true
		tasks = max(tasks, w.dag.Nodes[i].Index)
	}
	deps := inGraph(w.dag.Nodes, w.dag.Literal)
	for i := range w.dag.Nodes {
		for _, j := range deps[i] {
			inside(i, j)
		}
		n := &w.dag.Nodes[i]
		for _, id := range n.DependsOn {
			here := known[id] || w.dag.Literal && literalNumber(id, tasks) > 0
			if here && !(w.dag.Literal && n.Source == SourcePrerequisites) {
				continue
			}
			k, ok := w.index[id]
			if !ok {
				k = len(w.outer)
				w.index[id], w.outer = k, append(w.outer, id)
			}
			outside(i, k)
		}
	}
}

// Short returns the part of a node's id before the words of its title: "n02".
func (n *Node) Short() string {
	if n.Index == 0 {
		return n.ID
	}
	head, _, _ := strings.Cut(n.ID, "-")
	return head
}

// caption is what is written into the box of a node.
func caption(n *Node) string {
	if n.Index == 0 {
		return clip(n.Title)
	}
	return n.Short() + " " + clip(n.Title)
}

// DOT renders a DAG for Graphviz. Arrows lead from a step to those that wait for
// it; ids outside of the ticket are dashed.
func DOT(d *Dag) string {
	w := newDrawing(d)
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotQuote(d.TaskID))
	b.WriteString("  // an arrow leads from a step to those that wait for it\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n")
	for i := range d.Nodes {
		n := &d.Nodes[i]
		style := ""
		switch {
		case n.State == StateCancelled:
			style = ", style=\"rounded,filled,dashed\", fillcolor=\"#eeeeee\""
		case n.State == StateDeferred:
			style = ", style=\"rounded,dotted\""
		case n.Done:
			style = ", style=\"rounded,filled\", fillcolor=\"#dddddd\""
		case n.Group || n.Source == SourcePrerequisites:
			style = ", shape=plaintext"
		}
		fmt.Fprintf(&b, "  s%d [label=%s%s];\n", i, dotQuote(caption(n)), style)
	}
	for k, id := range w.outer {
		fmt.Fprintf(&b, "  x%d [label=%s, style=\"rounded,dashed\"];\n", k, dotQuote(clip(id)))
	}
	w.edges(
		func(from, to int) { fmt.Fprintf(&b, "  s%d -> s%d;\n", to, from) },
		func(from, to int) { fmt.Fprintf(&b, "  x%d -> s%d [style=dashed];\n", to, from) },
	)
	b.WriteString("}\n")
	return b.String()
}

// dotQuote makes any text a quoted string of the DOT language. Graphviz reads
// escapes like \n and \N in labels, so backslashes are doubled.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printableText(s)) + `"`
}

// Mermaid renders a DAG as a Mermaid flowchart, with arrows as in DOT.
func Mermaid(d *Dag) string {
	w := newDrawing(d)
	var b strings.Builder
	b.WriteString("%% an arrow leads from a step to those that wait for it\nflowchart LR\n")
	var done, off []string
	for i := range d.Nodes {
		n := &d.Nodes[i]
		fmt.Fprintf(&b, "  s%d[\"%s\"]\n", i, mermaidText(caption(n)))
		switch {
		case n.State != "":
			off = append(off, "s"+strconv.Itoa(i))
		case n.Done:
			done = append(done, "s"+strconv.Itoa(i))
		}
	}
	for k, id := range w.outer {
		fmt.Fprintf(&b, "  x%d([\"%s\"])\n", k, mermaidText(clip(id)))
	}
	w.edges(
		func(from, to int) { fmt.Fprintf(&b, "  s%d --> s%d\n", to, from) },
		func(from, to int) { fmt.Fprintf(&b, "  x%d -.-> s%d\n", to, from) },
	)
	for _, c := range []struct {
		name, style string
		nodes       []string
	}{{"done", "fill:#ddd,color:#555", done}, {"off", "fill:#fff,color:#777,stroke-dasharray:4", off}} {
		if len(c.nodes) > 0 {
			fmt.Fprintf(&b, "  classDef %s %s\n  class %s %s\n", c.name, c.style, strings.Join(c.nodes, ","), c.name)
		}
	}
	return b.String()
}

// mermaidText makes any text the inside of a quoted label: what could end it, be
// read as HTML, as Markdown or as an entity becomes an entity code.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range printableText(s) {
		if strings.ContainsRune("\"#<>&`;\\%{}*_~", r) {
			fmt.Fprintf(&b, "#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printableText replaces what is not to be seen with a blank each.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}
