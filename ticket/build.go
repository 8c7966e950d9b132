package ticket

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/topo"
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
	b := builder{t: t, rep: &report{file: t.File}, nodes: make([]Node, 0, len(t.Tasks)+2)}
	d := &Dag{
		TaskID: t.ID, File: t.File, Objective: t.Objective,
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
	if b.edges > MaxEdges {
		b.rep.err(0, 0, tooManyEdges())
		return nil, b.rep.done()
	}
	b.attach()
	if !b.order(d) {
		return nil, b.rep.done()
	}
	if opts.Sequential {
		d.chain()
	}
	b.reportHeld(d)
	return d, b.rep.done()
}

// AsError returns the error diagnostics among ds as one *fault.Error, or nil if
// there is none: code conflict if one of them is a conflict, unsupported if one is
// that, else invalid. It carries all of ds.
func AsError(op string, ds []fault.Diagnostic) error {
	var first *fault.Diagnostic
	code, n := fault.Invalid, 0
	for i := range ds {
		if ds[i].Severity != fault.SeverityError {
			continue
		}
		if n++; first == nil {
			first = &ds[i]
		}
		if c := ds[i].Code; c == fault.Conflict || c == fault.Unsupported && code != fault.Conflict {
			if code != c {
				code, first = c, &ds[i]
			}
		}
	}
	if first == nil {
		return nil
	}
	msg := strings.Replace(first.String(), ": error: ", ": ", 1)
	msg = strings.TrimPrefix(msg, "error: ")
	if n > 1 {
		msg += fmt.Sprintf(" (and %s)", count(n-1, "more error"))
	}
	e := fault.New(code, op, "%s", msg)
	e.Hint, e.Diagnostics = first.Hint, ds
	return e
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
}

func (b *builder) addRoot(assume []string) {
	met := true
	for _, id := range b.t.DependsOn {
		met = met && slices.Contains(assume, id)
	}
	b.nodes = append(b.nodes, Node{
		ID: b.t.ID + ":prerequisites", Title: "Satisfy ticket prerequisites", Done: met,
		DependsOn: slices.Clone(b.t.DependsOn), Files: []string{}, Tests: []string{}, Source: SourcePrerequisites,
	})
	b.edges += len(b.t.DependsOn)
	b.first = 1
}

func (b *builder) addFallback() {
	why := b.t.NoTasks
	if why == "" {
		why = "the ticket has no tasks"
	}
	b.rep.warn(0, 0, finding{
		summary: "no step was read; the ticket's objective is planned as one",
		detail:  why,
		hint:    "write steps as `- [ ] text`, for instance under a heading `## Tasks`",
	})
	n := Node{
		ID: b.t.ID + ":single", Title: "Execute the ticket objective as one step",
		DependsOn: []string{}, Files: notNil(b.t.Files), Tests: notNil(b.t.Tests), Source: SourceFallback,
	}
	if b.first == 1 {
		n.DependsOn = append(n.DependsOn, b.nodes[0].ID)
		b.edges++
	}
	b.nodes = append(b.nodes, n)
}

func (b *builder) addTasks() {
	tasks := b.t.Tasks
	last := lastInside(tasks)
	inherited := make([][]int, len(tasks)) // in-graph dependencies a task hands to its children
	for i := range tasks {
		t := &tasks[i]
		n := Node{
			ID: t.ID, Title: t.Title, Done: t.State == StateDone || t.State == StateCancelled,
			Files: []string{}, Tests: []string{}, Source: SourceTask, Command: t.Command,
			Line: t.Line, Index: t.Index, Label: t.Label, Group: t.Group(), Optional: t.Optional, Notes: t.Notes,
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
		deps := depSet{list: make([]string, 0, b.first+len(t.DependsOn)+len(t.Children))}
		if b.first == 1 {
			deps.add(b.nodes[0].ID)
		}
		if t.Parent > 0 {
			n.Parent = tasks[t.Parent-1].ID
			for _, d := range inherited[t.Parent-1] {
				deps.add(tasks[d-1].ID)
			}
		}
		hand := inheritable(t, inherited, last)
		for _, r := range t.DependsOn {
			if r.Task > 0 {
				deps.add(tasks[r.Task-1].ID)
			} else {
				deps.add(r.Written)
			}
		}
		for _, c := range t.Children {
			deps.add(tasks[c-1].ID)
		}
		inherited[i] = hand
		n.DependsOn = notNil(deps.list)
		b.nodes = append(b.nodes, n)
		if b.edges += len(deps.list); b.edges > MaxEdges {
			return
		}
	}
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
	seen map[string]bool
}

func (s *depSet) add(id string) {
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
}

// order sorts the nodes into d. It reports a cycle and returns false if there is
// one.
func (b *builder) order(d *Dag) bool {
	deps := inGraph(b.nodes)
	res := topo.SortNumbers(len(deps), func(i int) []int { return deps[i] }, nil)
	if slices.Contains(b.t.DependsOn, b.t.ID) {
		res.Stuck, res.Cycle = []int{0}, []int{0}
	}
	if len(res.Cycle) > 0 {
		b.reportCycle(res)
		return false
	}
	d.Nodes = b.nodes
	if !slices.IsSorted(res.Order) { // most lists are in order already
		d.Nodes = make([]Node, 0, len(b.nodes))
		for _, i := range res.Order {
			d.Nodes = append(d.Nodes, b.nodes[i])
		}
	}
	for i := range d.Nodes {
		d.Nodes[i].Order = i
	}
	return true
}

// maxNamed is how many nodes a cycle's report names.
const maxNamed = 20

func (b *builder) reportCycle(res topo.Result[int]) {
	names := func(nodes []int, sep string, lines bool) string {
		var out []string
		for _, i := range nodes {
			if len(out) == maxNamed {
				out = append(out, fmt.Sprintf("and %d more", len(nodes)-maxNamed))
				break
			}
			s := b.nodes[i].ID
			if lines && b.nodes[i].Line > 0 {
				s += fmt.Sprintf(" (line %d)", b.nodes[i].Line)
			}
			out = append(out, s)
		}
		return strings.Join(out, sep)
	}
	stuck := slices.Clone(res.Stuck)
	slices.SortFunc(stuck, func(i, j int) int { return strings.Compare(b.nodes[i].ID, b.nodes[j].ID) })
	first := b.nodes[res.Cycle[0]]
	f := finding{
		code:    fault.Conflict,
		summary: "dependency cycle detected in execution graph; unresolved nodes: " + names(stuck, ", ", false),
		detail:  names(append(slices.Clone(res.Cycle), res.Cycle[0]), " depends on ", true),
		hint:    "edit the ticket: remove one of these dependencies",
	}
	switch {
	case first.Source == SourcePrerequisites:
		f.detail = fmt.Sprintf("the ticket %s depends on itself", b.t.ID)
	case len(res.Cycle) == 1:
		f.detail = names(res.Cycle, "", true) + " depends on itself"
	case b.nested(res.Cycle):
		f.hint += " (a task with nested tasks waits for them, and they wait for what it waits for)"
	}
	b.rep.err(first.Line, 0, f)
}

// nested reports whether one node of a cycle is nested in another.
func (b *builder) nested(cycle []int) bool {
	ids := map[string]bool{}
	for _, i := range cycle {
		ids[b.nodes[i].ID] = true
	}
	return slices.ContainsFunc(cycle, func(i int) bool { return ids[b.nodes[i].Parent] })
}

// chain makes each node that is left and can run depend on the one before it. A
// link to a done node would hold nothing, one to a deferred node everything.
func (d *Dag) chain() {
	held := map[string]bool{}
	for _, id := range d.Held() {
		held[id] = true
	}
	prev := ""
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Done || n.State == StateDeferred || held[n.ID] {
			continue
		}
		if prev != "" && !slices.Contains(n.DependsOn, prev) {
			n.DependsOn = append(n.DependsOn, prev)
		}
		prev = n.ID
	}
}

func (b *builder) reportHeld(d *Dag) {
	held := d.Held()
	if len(held) == 0 {
		return
	}
	waits := map[string]bool{}
	for _, id := range held {
		waits[id] = true
	}
	var lines []int
	for i := range d.Nodes {
		if waits[d.Nodes[i].ID] && d.Nodes[i].Line > 0 {
			lines = append(lines, d.Nodes[i].Line)
		}
	}
	if len(lines) == 0 {
		return
	}
	slices.Sort(lines)
	b.rep.warn(lines[0], 0, finding{
		summary: count(len(held), "step") + " cannot run: waiting for a deferred one",
		detail:  lineList(lines),
		hint:    "make the deferred task `[ ]` to run it, or `[-]` to go on without it",
	})
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
