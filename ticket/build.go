package ticket

import (
	"fmt"
	"slices"

	"github.com/ambit-run/ambit/fault"
)

// MaxEdges is how many dependencies one DAG may have. Ranges and nesting multiply
// them: without a limit a small file could ask for a trillion.
const MaxEdges = 250_000

// BuildOptions for Build. The zero value takes the ticket as it is.
type BuildOptions struct {
	// Sequential adds to each step the one before it, so that they run one by one
	// in the order of the list, as far as declared dependencies leave it.
	Sequential bool
	// Assume lists ids of other tickets that count as done. The prerequisites root
	// is met if every id of the ticket's depends_on is among them.
	Assume []string
}

// Build makes the execution DAG of a parsed ticket. Nodes are in topological
// order, ties in the order of the list. A cycle or too many dependencies give an
// error diagnostic and no DAG; other findings come with one. t is not changed.
func Build(t *Ticket, opts BuildOptions) (*Dag, []fault.Diagnostic) {
	b := builder{t: t, rep: &report{file: t.File}, nodes: make([]Node, 0, len(t.Tasks)+2), literal: t.Format == GrammarLiteral}
	d := &Dag{
		TaskID: t.ID, File: t.File, Objective: t.Objective, Literal: b.literal,
		Acceptance: notNil(t.Acceptance), Scope: notNil(t.Scope), TestCommands: t.TestCommands,
	}
	if len(t.DependsOn) > 0 {
		b.addRoot(opts.Assume)
	}
	if len(t.Tasks) == 0 {
		b.addFallback()
		d.Text = t.Text
	}
	b.addTasks()
	b.addSequences()
	if b.edges > MaxEdges {
		b.rep.err(0, 0, tooManyEdges())
		return nil, b.rep.done()
	}
	if b.literal {
		b.attachLiteral()
	} else {
		b.attach()
	}
	if b.edges > MaxEdges || fault.HasErrors(b.rep.found) {
		return nil, b.rep.done()
	}
	if !b.order(d) {
		return nil, b.rep.done()
	}
	if opts.Sequential {
		d.chain()
	}
	b.reportHeld(d)
	return d, b.rep.done()
}

func tooManyEdges() finding {
	return finding{
		summary: fmt.Sprintf("the ticket has more than %d dependencies", MaxEdges),
		detail:  "ranges and nested tasks multiply them",
		hint:    "let tasks depend on one task that depends on the many",
	}
}

// builder makes nodes in the order of the list, the root first.
type builder struct {
	t     *Ticket
	rep   *report
	nodes []Node
	first int // position of the first task
	edges int

	literal bool
}

func (b *builder) addRoot(assume []string) {
	met := true
	for _, id := range b.t.DependsOn {
		met = met && slices.Contains(assume, id)
	}
	b.nodes = append(b.nodes, Node{
		ID: b.t.ID + ":prerequisites", Title: "Satisfy ticket prerequisites", Done: met,
		DependsOn: slices.Clone(b.t.DependsOn), Files: []string{}, Tests: []string{}, Source: SourcePrerequisites,
		Reasons: slices.Repeat([]Reason{{Kind: ReasonPrerequisites}}, len(b.t.DependsOn)),
	})
	b.edges += len(b.t.DependsOn)
	b.first = 1
}

func (b *builder) addFallback() {
	b.rep.warn(0, 0, noStep(b.t, ""))
	n := Node{
		ID: b.t.ID + ":single", Title: "Execute the ticket objective as one step",
		DependsOn: []string{}, Files: notNil(b.t.Files), Tests: notNil(b.t.Tests), Source: SourceFallback,
	}
	if b.first == 1 {
		n.DependsOn = append(n.DependsOn, b.nodes[0].ID)
		n.Reasons = append(n.Reasons, Reason{Kind: ReasonPrerequisites})
		b.edges++
	}
	b.nodes = append(b.nodes, n)
}

func noStep(t *Ticket, file string) finding {
	why := t.NoTasks
	if why == "" {
		why = "the ticket has no tasks"
	}
	return finding{
		file: file, summary: "no step was read; the ticket's objective is planned as one",
		detail: why, hint: "write steps as `- [ ] text`, for instance under a heading `## Tasks`",
	}
}

func (b *builder) addTasks() {
	tasks := b.t.Tasks
	last := lastInside(tasks)
	inherited := make([][]int, len(tasks)) // in-graph dependencies a task hands to its children
	for i := range tasks {
		t := &tasks[i]
		n := Node{
			ID: t.ID, Title: t.Title, Done: t.State == StateDone || t.State == StateCancelled,
			Files: append([]string{}, t.Files...), Tests: append([]string{}, t.Tests...), Source: SourceTask, Command: t.Command,
			File: t.File, Line: t.Line, Index: t.Index, Label: t.Label, Group: t.Group(), Optional: t.Optional, Boxless: t.Boxless, Notes: t.Notes,
		}
		if n.BoxColumn = t.BoxColumn; t.BoxLine != t.Line {
			n.BoxLine = t.BoxLine
		}
		if t.Shell != ShellSh {
			n.Shell = t.Shell
		}
		if t.State == StateCancelled || t.State == StateDeferred {
			n.State = t.State
		}
		if t.Text != t.Title {
			n.Text = t.Text
		}
		room := b.first + len(t.DependsOn) + len(t.Children)
		deps := depSet{list: make([]string, 0, room), why: make([]Reason, 0, room)}
		if b.first == 1 {
			deps.add(b.nodes[0].ID, Reason{Kind: ReasonPrerequisites})
		}
		if b.literal {
			b.asWritten(&n, t, deps)
			b.nodes = append(b.nodes, n)
			continue
		}
		if t.Parent > 0 {
			n.Parent = tasks[t.Parent-1].ID
			for _, d := range inherited[t.Parent-1] {
				deps.add(tasks[d-1].ID, Reason{Kind: ReasonInherited})
			}
		}
		hand := inheritable(t, inherited, last)
		for _, r := range t.DependsOn {
			if r.Task > 0 {
				deps.add(tasks[r.Task-1].ID, Reason{Kind: ReasonDeclared, Line: r.Line, Text: r.Written})
			} else {
				deps.add(r.Written, Reason{Kind: ReasonDeclared, Line: r.Line, Text: r.Written})
			}
		}
		for _, c := range t.Children {
			deps.add(tasks[c-1].ID, Reason{Kind: ReasonNested})
		}
		inherited[i] = hand
		n.DependsOn = notNil(deps.list)
		if len(deps.why) > 0 {
			n.Reasons = deps.why
		}
		b.nodes = append(b.nodes, n)
		if b.edges += len(deps.list); b.edges > MaxEdges {
			return
		}
	}
}

// asWritten adds the dependencies of a task as they stand in it, repetitions
// included. They are no more than the file is large.
func (b *builder) asWritten(n *Node, t *Task, deps depSet) {
	n.DependsOn, n.Reasons = deps.list, deps.why
	for _, r := range t.DependsOn {
		n.DependsOn = append(n.DependsOn, r.Written)
		n.Reasons = append(n.Reasons, Reason{Kind: ReasonDeclared, Line: r.Line, Text: r.Written})
	}
	b.edges += len(n.DependsOn)
}

// inheritable returns the dependencies a task hands to its children: its own and
// those it was handed, but none that lie inside itself.
func inheritable(t *Task, inherited [][]int, last []int) []int {
	if len(t.Children) == 0 {
		return nil
	}
	var hand []int
	if t.Parent > 0 {
		hand = inherited[t.Parent-1]
	}
	hand = slices.Clip(hand)
	for _, r := range t.DependsOn {
		if r.Task > 0 && (r.Task < t.Index || r.Task > last[t.Index-1]) {
			hand = append(hand, r.Task)
		}
	}
	return hand
}

// lastInside returns for each task the index of the last task nested in it, or its
// own.
func lastInside(tasks []Task) []int {
	last := make([]int, len(tasks))
	for i := len(tasks) - 1; i >= 0; i-- {
		last[i] = i + 1
		for _, c := range tasks[i].Children {
			last[i] = max(last[i], last[c-1])
		}
	}
	return last
}

// depSet is a list without repetitions.
type depSet struct {
	list []string
	why  []Reason // of each in list
	seen map[string]bool
}

func (s *depSet) add(id string, why Reason) {
	// Most tasks have a handful; looking is cheaper than hashing.
	if len(s.list) < 8 {
		if slices.Contains(s.list, id) {
			return
		}
	} else {
		if s.seen == nil {
			s.seen = make(map[string]bool, 2*len(s.list))
			for _, v := range s.list {
				s.seen[v] = true
			}
		}
		if s.seen[id] {
			return
		}
		s.seen[id] = true
	}
	s.list = append(s.list, id)
	s.why = append(s.why, why)
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
