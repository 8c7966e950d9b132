package cli

import (
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/ticket"
)

// writePlan shows a preview to a person.
func (d *deps) writePlan(b *strings.Builder, st style, v *engine.Preview, u *understood, o *runOptions) {
	p := v.Plan
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%s%s\n", pad(name, 12), fmt.Sprintf(format, args...))
	}
	row("ticket", "%s  %s", st.bold(visible(u.ID)), visible(u.Objective))
	row("", "%s", u.summary())
	for _, s := range p.Sandboxes {
		strategy := string(s.Strategy)
		if strategy == "" {
			strategy = st.red("no strategy")
		}
		row("sandbox", "%s  %s  over a %s tree", strategy, visible(s.Resource.Path), s.Lower)
		if s.Reason != "" {
			row("", "%s", st.dim(visible(s.Reason)))
		}
	}
	switch p.Rung {
	case "":
		row("confinement", "%s", st.red("none to be had"))
	case engine.RungNone:
		row("confinement", "%s", st.red("none — commands run NOT CONFINED, as you asked"))
	default:
		row("confinement", "%s  %s", p.Rung, st.dim(visible(p.RungWhy)))
	}
	row("boundary", "writes reach %s; network %s; home %s", reached(p), p.Options.Network, p.Options.Home)
	b.WriteString("\n")
	writeWaves(b, st, u.dag, o.agent)
	files, without := claims(u.dag)
	if len(files) > 0 {
		b.WriteString(st.bold("files") + "\n")
		for _, c := range files {
			fmt.Fprintf(b, "  %s  %s\n", visible(c.Path), st.dim("← "+labels(c.Steps)))
		}
	}
	if len(without) > 0 {
		fmt.Fprintf(b, "%s  %s\n", st.bold("name no file"), labels(without))
	}
	if len(v.Missing) == 0 {
		b.WriteString("\n" + st.green("nothing is missing") + "\n")
		return
	}
	b.WriteString("\n" + st.bold("missing") + "\n")
	for _, m := range v.Missing {
		fmt.Fprintf(b, "  %s %s\n", st.red("✗"), visible(m.What))
		for _, path := range m.Paths {
			fmt.Fprintf(b, "      %s\n", visible(path))
		}
		if m.Hint != "" {
			fmt.Fprintf(b, "    %s %s\n", st.dim("hint:"), strings.ReplaceAll(visible(m.Hint), `\n`, "\n          "))
		}
	}
}

// reached says where what commands write ends up.
func reached(p *engine.Plan) string {
	where := "copies of the resources"
	for _, s := range p.Sandboxes {
		if s.Strategy == engine.StrategyNone {
			where = "the resources themselves"
		}
	}
	for _, path := range p.Options.ReadWrite {
		where += ", " + visible(path) + " for real"
	}
	return where
}

// writeWaves lists the steps that are left, why each waits, and what it runs.
func writeWaves(b *strings.Builder, st style, dag *ticket.Dag, agent []string) {
	for _, br := range branches(dag) {
		b.WriteString(st.bold(br.head) + "\n")
		for _, n := range br.steps {
			fmt.Fprintf(b, "  %s  %s%s\n", st.cyan(label(n.ID)), fit(visible(n.Title), excerptWidth), st.dim(work(n, agent)))
			if strings.HasPrefix(br.head, "wave") {
				for i, id := range n.DependsOn {
					if i == maxTreeDeps {
						fmt.Fprintf(b, "       %s\n", st.dim(fmt.Sprintf("and %d more", len(n.DependsOn)-i)))
						break
					}
					fmt.Fprintf(b, "       after %s%s\n", label(id), st.dim(why(n, i)))
				}
			}
		}
	}
}

// why renders the reason of a step's i-th dependency.
func why(n *ticket.Node, i int) string {
	if i >= len(n.Reasons) {
		return ""
	}
	return "  " + visible(n.Reasons[i].String())
}

// work says what a step runs.
func work(n *ticket.Node, agent []string) string {
	switch {
	case !n.Runs():
		return ""
	case n.Command != "":
		return "  its own command"
	case len(agent) > 0:
		return "  " + visible(agent[0])
	}
	return "  nothing to run"
}

// labels joins the short names of steps.
func labels(ids []string) string {
	var out []string
	for i, id := range ids {
		if i == maxTreeDeps {
			out = append(out, fmt.Sprintf("and %d more", len(ids)-i))
			break
		}
		out = append(out, label(id))
	}
	return strings.Join(out, ", ")
}
