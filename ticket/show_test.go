package ticket

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/fault"
)

// show renders a DAG for comparison, one node a line in topological order:
// "n02 Title <- n01, X [done]".
func show(d *Dag) string {
	if d == nil {
		return "no DAG\n"
	}
	var b strings.Builder
	for i := range d.Nodes {
		n := &d.Nodes[i]
		b.WriteString(short(d, n.ID) + " " + n.Title)
		for k, dep := range n.DependsOn {
			b.WriteString(map[bool]string{true: " <- ", false: ", "}[k == 0] + short(d, dep))
		}
		var flags []string
		if n.Done && n.State == "" {
			flags = append(flags, "done")
		}
		if n.State != "" {
			flags = append(flags, string(n.State))
		}
		if n.Group {
			flags = append(flags, "group")
		}
		if n.Optional {
			flags = append(flags, "optional")
		}
		if len(flags) > 0 {
			b.WriteString(" [" + strings.Join(flags, " ") + "]")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// short returns n02 for the node n02-slug and leaves other ids as they are.
func short(d *Dag, id string) string {
	if n := d.Node(id); n != nil && n.Index > 0 {
		id = shortID(id)
	}
	return id
}

// showFindings renders diagnostics, one a line: "error 3:5 summary".
func showFindings(ds []fault.Diagnostic) string {
	var b strings.Builder
	for _, d := range ds {
		d.File = ""
		b.WriteString(strings.TrimSpace(d.String()) + "\n")
	}
	return b.String()
}

// lines joins lines with a line end each.
func lines(s ...string) string {
	if len(s) == 0 {
		return ""
	}
	return strings.Join(s, "\n") + "\n"
}

// ruleCase is one ticket with the exact DAG and findings it gives.
type ruleCase struct {
	name     string
	in       string
	dag      []string
	findings []string // nil = none
}

func runRules(t *testing.T, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// An objective, so that its absence is not a finding in every case.
			tk, ds := Parse("case.md", []byte("---\nobjective: o\n---\n"+c.in), Options{})
			d, more := Build(tk, BuildOptions{})
			if diff := cmp.Diff(lines(c.dag...), show(d)); diff != "" {
				t.Errorf("DAG (-want +got):\n%s", diff)
			}
			got := moveUp(append(ds, more...), 3)
			if diff := cmp.Diff(lines(c.findings...), showFindings(got)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// moveUp takes the lines of the front matter out of places.
func moveUp(ds []fault.Diagnostic, n int) []fault.Diagnostic {
	for i := range ds {
		if ds[i].Line > n {
			ds[i].Line -= n
		}
	}
	return ds
}

// must plans a ticket without errors.
func must(t *testing.T, src string, opts BuildOptions) *Dag {
	t.Helper()
	tk, ds := Parse("t.md", []byte(src), Options{})
	d, more := Build(tk, opts)
	if err := AsError("", append(ds, more...)); err != nil {
		t.Fatal(err)
	}
	return d
}
