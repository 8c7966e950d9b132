package ticket

import "github.com/ambit-run/ambit/fault"

// View is the DAG as `ambit dag --json` prints it: the graph with everything that
// follows from it.
type View struct {
	TaskID       string             `json:"task_id"`
	Nodes        []Node             `json:"nodes"`
	NodeCount    int                `json:"node_count"`
	Edges        []Edge             `json:"edges"` // from waits for to
	Order        []string           `json:"order"`
	Waves        [][]string         `json:"waves"`
	Ready        []string           `json:"ready"`
	NextNode     *string            `json:"next_node"`
	ManifestHash string             `json:"manifest_hash"`
	Diagnostics  []fault.Diagnostic `json:"diagnostics"`
}

// View returns the DAG with its diagnostics for display.
func (d *Dag) View(diagnostics []fault.Diagnostic) View {
	v := View{
		TaskID: d.TaskID, Nodes: d.Nodes, NodeCount: len(d.Nodes), Edges: d.plainEdges(), Order: d.Order(),
		Waves: d.Waves(), Ready: d.Ready(nil), ManifestHash: d.ManifestHash(), Diagnostics: diagnostics,
	}
	if v.Nodes == nil {
		v.Nodes = []Node{}
	}
	if v.Diagnostics == nil {
		v.Diagnostics = []fault.Diagnostic{}
	}
	if len(v.Ready) > 0 {
		v.NextNode = &v.Ready[0]
	}
	return v
}

// plainEdges returns the edges without their reasons, which the nodes have.
func (d *Dag) plainEdges() []Edge {
	edges := d.Edges()
	for i := range edges {
		edges[i].Why = ""
	}
	return edges
}
