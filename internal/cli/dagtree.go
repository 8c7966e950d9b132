package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/ambit-run/ambit/ticket"
)

// branch is one branch of the tree and the steps on it.
type branch struct {
	head  string
	steps []*ticket.Node
}

// branches sorts the nodes of a DAG into its waves and into what is in none.
func branches(dag *ticket.Dag) []branch {
	byID := make(map[string]*ticket.Node, len(dag.Nodes))
	for i := range dag.Nodes {
		byID[dag.Nodes[i].ID] = &dag.Nodes[i]
	}
	pick := func(ids []string) (out []*ticket.Node) {
		for _, id := range ids {
			out = append(out, byID[id])
		}
		return out
	}
	var all []branch
	for i, ids := range dag.Waves() {
		all = append(all, branch{fmt.Sprintf("wave %d", i+1), pick(ids)})
	}
	rest := []branch{{head: "waiting for a deferred step", steps: pick(dag.Held())}, {head: "deferred"}, {head: "cancelled"}, {head: "done"}}
	for i := range dag.Nodes {
		switch n := &dag.Nodes[i]; {
		case n.State == ticket.StateDeferred:
			rest[1].steps = append(rest[1].steps, n)
		case n.State == ticket.StateCancelled:
			rest[2].steps = append(rest[2].steps, n)
		case n.Done:
			rest[3].steps = append(rest[3].steps, n)
		}
	}
	for _, b := range rest {
		if len(b.steps) > 0 {
			all = append(all, b)
		}
	}
	return all
}

// writeTree shows a DAG as a tree of waves: what stands on one branch could run at
// the same time.
func (d *deps) writeTree(w io.Writer, dag *ticket.Dag) error {
	st := d.styleFor(w)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", st.bold(visible(dag.TaskID)), visible(dag.Objective))
	all := branches(dag)
	for i, br := range all {
		twig, trunk := "├─ ", "│  "
		if i == len(all)-1 {
			twig, trunk = "└─ ", "   "
		}
		b.WriteString(st.dim(twig) + st.bold(br.head) + "\n")
		for k, n := range br.steps {
			leaf := "├─ "
			if k == len(br.steps)-1 {
				leaf = "└─ "
			}
			b.WriteString(st.dim(trunk+leaf) + treeLine(st, n) + "\n")
		}
	}
	fmt.Fprintf(&b, "%s\n", st.dim("manifest "+dag.ManifestHash()))
	_, err := io.WriteString(w, b.String())
	return err
}

// treeLine is one step: its short name, its title, what it waits for.
func treeLine(st style, n *ticket.Node) string {
	s := st.cyan(label(n.ID)) + "  " + fit(visible(n.Title), excerptWidth)
	switch {
	case n.Group:
		s += st.dim("  (nothing of its own)")
	case n.Optional:
		s += st.dim("  (optional)")
	}
	if len(n.DependsOn) > 0 {
		var names []string
		for i, id := range n.DependsOn {
			if i == maxTreeDeps {
				names = append(names, fmt.Sprintf("and %d more", len(n.DependsOn)-i))
				break
			}
			names = append(names, label(id))
		}
		s += st.dim("  ← " + strings.Join(names, ", "))
	}
	return s
}

// maxTreeDeps is how many dependencies one line names.
const maxTreeDeps = 12
