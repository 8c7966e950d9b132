package ticket

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/internal/topo"
)

// Where a node comes from.
const (
	SourcePrerequisites = "ticket-dependencies" // the root that stands for the tickets before this one
	SourceTask          = "task-list"
	SourceFallback      = "fallback" // no task was read: the objective as one step
)

// Dag is the execution DAG of one ticket. It is plain data: it survives a round
// trip through JSON, and methods only read it.
type Dag struct {
	TaskID       string   `json:"task_id"`
	File         string   `json:"file,omitempty"`
	Objective    string   `json:"objective"`
	Acceptance   []string `json:"acceptance"`
	Scope        []string `json:"scope"`
	TestCommands []string `json:"test_commands,omitempty"`
	// Literal says that dependencies stand in the nodes as they were written: n02
	// means the second task. InGraph resolves them.
	Literal bool `json:"literal,omitempty"`
	// Text is the ticket's text where no task was read, for the one step's prompt.
	Text  string `json:"text,omitempty"`
	Nodes []Node `json:"nodes"` // in topological order
}

// Node is one step of the DAG. The fields from ID to Source, with Command, Shell
// and State where they are set, are what the manifest hash binds.
type Node struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Done      bool     `json:"done"`       // nothing is left to do: ticked, cancelled, or prerequisites met
	DependsOn []string `json:"depends_on"` // node ids, and external ids, which order nothing
	Files     []string `json:"files"`
	Tests     []string `json:"tests"`
	Order     int      `json:"order"` // 0-based position in Nodes
	Source    string   `json:"source"`
	// Command is the step's own script and Shell what it is written for, ShellSh or
	// ShellBash. Shell is set only where it is ShellBash; a command without it is
	// for sh.
	Command string `json:"command,omitempty"`
	Shell   string `json:"shell,omitempty"`
	// State is set where Done does not say it all: StateCancelled, StateDeferred.
	State State `json:"state,omitempty"`

	Line int `json:"line,omitempty"` // in the ticket; 0 = none
	// BoxLine is the line of the box where that is another one, BoxColumn where in
	// its line the box begins, 1-based, in bytes; 0 = no box.
	BoxLine   int    `json:"box_line,omitempty"`
	BoxColumn int    `json:"box_column,omitempty"`
	Index     int    `json:"index,omitempty"` // position in the task list, 1-based; 0 = not a task
	Label     string `json:"label,omitempty"`
	Group     bool   `json:"group,omitempty"` // a heading over nested steps: does nothing, met when they are
	Optional  bool   `json:"optional,omitempty"`
	Boxless   bool   `json:"boxless,omitempty"` // no checklist item: the whole of a file is the step
	Parent    string `json:"parent,omitempty"`  // id of the step it is nested in
	Text      string `json:"text,omitempty"`    // the line as written, where it differs from Title
	Notes     string `json:"notes,omitempty"`   // what stands below the box
	// Reasons says why the step waits, one for each of DependsOn; none where the
	// grammar gives none.
	Reasons []Reason `json:"reasons,omitempty"`
	// File is the file the step stands in, where the DAG is of several.
	File string `json:"file,omitempty"`
}

// Edge says that From waits for To, and why. To may be an external id. Why is
// empty where the grammar gives no reasons.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why,omitempty"`
}

// Edges returns every dependency, external ones included, in the order of nodes.
func (d *Dag) Edges() []Edge {
	edges := []Edge{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		for k, to := range n.DependsOn {
			e := Edge{From: n.ID, To: to}
			if k < len(n.Reasons) {
				e.Why = n.Reasons[k].String()
			}
			edges = append(edges, e)
		}
	}
	return edges
}

// Order returns the ids of all nodes in topological order.
func (d *Dag) Order() []string {
	ids := make([]string, len(d.Nodes))
	for i := range d.Nodes {
		ids[i] = d.Nodes[i].ID
	}
	return ids
}

// Node returns the node with an id, or nil.
func (d *Dag) Node(id string) *Node {
	i := slices.IndexFunc(d.Nodes, func(n Node) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return &d.Nodes[i]
}

// Find returns the nodes a person may mean by a word: the one with that id or
// label, else those whose id begins with it.
func (d *Dag) Find(word string) []*Node {
	var found []*Node
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.ID == word || n.Label != "" && n.Label == word {
			return []*Node{n}
		}
	}
	for i := range d.Nodes {
		if n := &d.Nodes[i]; word != "" && len(n.ID) > len(word) && n.ID[:len(word)] == word {
			found = append(found, n)
		}
	}
	return found
}

// Prerequisites returns the ids of the tickets that come before this one, and
// whether they are met. No ids means there are none.
func (d *Dag) Prerequisites() (ids []string, met bool) {
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Source == SourcePrerequisites {
			return n.DependsOn, n.Done
		}
	}
	return nil, true
}

// Status is where a step stands, as far as readiness is concerned.
type Status int

// Statuses.
const (
	StatusWaiting Status = iota // not begun
	StatusRunning               // begun, not ended
	StatusMet                   // ended well: what depends on it may run
	StatusUnmet                 // ended otherwise, or will not run: what depends on it must not
)

// place says where a node is written: "line 3", in a DAG of several files "a.md:3".
func (n *Node) place() string {
	if n.File != "" {
		return fmt.Sprintf("%s:%d", n.File, n.Line)
	}
	return fmt.Sprintf("line %d", n.Line)
}

// places lists where nodes are written, in their order.
func places(nodes []*Node) string {
	var lines []int
	var files []string
	for _, n := range nodes {
		switch {
		case n.Line == 0:
		case n.File == "":
			lines = append(lines, n.Line)
		case len(files) < maxNamed:
			files = append(files, n.place())
		case len(files) == maxNamed:
			files = append(files, "and more")
		}
	}
	if len(files) > 0 {
		return strings.Join(files, ", ")
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	return lineList(lines)
}

// status returns what the ticket itself says of a node.
func (n *Node) status() Status {
	switch {
	case n.Done:
		return StatusMet
	case n.State == StateDeferred:
		return StatusUnmet
	}
	return StatusWaiting
}

// inGraph returns for each node the positions of its dependencies that are nodes
// themselves. literal is Dag.Literal.
func inGraph(nodes []Node, literal bool) [][]int {
	index, deps := make(map[string]int, len(nodes)), make([][]int, len(nodes))
	edges := 0
	for i := range nodes {
		index[nodes[i].ID] = i
		edges += len(nodes[i].DependsOn)
	}
	var tasks []int // positions by Index
	if literal {
		tasks = make([]int, len(nodes)+1)
		for i := range nodes {
			if n := nodes[i].Index; n > 0 && n < len(tasks) {
				tasks[n] = i + 1
			}
		}
	}
	flat := make([]int, 0, edges)
	for i := range nodes {
		from := len(flat)
		for _, id := range nodes[i].DependsOn {
			if literal && nodes[i].Source == SourcePrerequisites {
				break // ids of other tickets, whatever they look like
			}
			if j, ok := index[id]; ok {
				flat = append(flat, j)
			} else if literal {
				if j := tasks[literalNumber(id, len(nodes))]; j > 0 {
					flat = append(flat, j-1)
				}
			}
		}
		deps[i] = flat[from:len(flat):len(flat)]
	}
	return deps
}

// InGraph returns for each node, in the order of Nodes, the ids of the nodes of
// this DAG that it waits for.
func (d *Dag) InGraph() [][]string {
	out := make([][]string, len(d.Nodes))
	for i, deps := range inGraph(d.Nodes, d.Literal) {
		for _, j := range deps {
			out[i] = append(out[i], d.Nodes[j].ID)
		}
	}
	return out
}

// frontier is the one place where readiness is decided: it returns the frontier
// over the nodes' positions with all met nodes settled, and what may start: nodes
// that wait. The ticket's own word stands: what it calls done is met and what it
// defers never runs, whatever status says.
func (d *Dag) frontier(status func(id string) Status) (f *topo.Frontier, waiting func(i int) bool) {
	deps := inGraph(d.Nodes, d.Literal)
	f = topo.NewFrontier(len(deps), func(i int) []int { return deps[i] })
	states := make([]Status, len(d.Nodes))
	for i := range d.Nodes {
		if states[i] = d.Nodes[i].status(); states[i] == StatusWaiting && status != nil {
			states[i] = status(d.Nodes[i].ID)
		}
		if states[i] == StatusMet {
			f.Settle(i, nil)
		}
	}
	return f, func(i int) bool { return states[i] == StatusWaiting }
}

// Ready returns the ids of the steps that may start now: those that wait, with
// everything they depend on in this DAG met, in topological order. status says
// where each step stands; nil means as the ticket says. An unmet prerequisites
// root is ready itself and holds up everything else; it is never executed.
func (d *Dag) Ready(status func(id string) Status) []string {
	f, waiting := d.frontier(status)
	ready := []string{}
	for _, i := range f.Free() {
		if waiting(i) {
			ready = append(ready, d.Nodes[i].ID)
		}
	}
	return ready
}

// NextNode returns the first step that is ready, by the ticket's own boxes; "" if
// there is none.
func (d *Dag) NextNode() string {
	if ready := d.Ready(nil); len(ready) > 0 {
		return ready[0]
	}
	return ""
}

// Waves returns the steps that are left in waves: each wave may run at once, after
// the waves before it. Steps that are done, cancelled or deferred are in none, and
// neither is what waits for a deferred one (Held).
func (d *Dag) Waves() [][]string {
	f, waiting := d.frontier(nil)
	waves := [][]string{}
	for _, wave := range f.Drain(waiting) {
		ids := make([]string, len(wave))
		for k, i := range wave {
			ids[k] = d.Nodes[i].ID
		}
		waves = append(waves, ids)
	}
	return waves
}

// Held returns the steps that cannot run in this plan because they wait, directly
// or not, for a deferred one.
func (d *Dag) Held() []string {
	held := []string{}
	if !slices.ContainsFunc(d.Nodes, func(n Node) bool { return n.State == StateDeferred }) {
		return held
	}
	f, waiting := d.frontier(nil)
	runs := make([]bool, len(d.Nodes))
	for _, wave := range f.Drain(waiting) {
		for _, i := range wave {
			runs[i] = true
		}
	}
	for i := range d.Nodes {
		if waiting(i) && !runs[i] {
			held = append(held, d.Nodes[i].ID)
		}
	}
	return held
}
