package ticket

import (
	"bytes"
	"errors"
	"strings"

	"github.com/ambit-run/ambit/internal/canonjson"
)

// ManifestProvenance is what a manifest says about itself.
const ManifestProvenance = "derived from ticket structure; no execution has occurred"

// never is false. It is the type of what no input can set.
type never struct{}

// MarshalJSON writes false.
func (never) MarshalJSON() ([]byte, error) { return []byte("false"), nil }

// UnmarshalJSON takes false and nothing else.
func (never) UnmarshalJSON(b []byte) error {
	if string(bytes.TrimSpace(b)) != "false" {
		return errors.New("a manifest or handoff cannot authorize anything: the value must be false")
	}
	return nil
}

// Manifest is the payload handed to whatever executes the DAG.
type Manifest struct {
	TaskID              string         `json:"task_id"`
	Objective           string         `json:"objective"`
	Acceptance          string         `json:"acceptance"` // one criterion per line
	Scope               []string       `json:"scope"`
	Nodes               []ManifestNode `json:"nodes"`
	NextNode            *string        `json:"next_node"` // null if nothing is ready
	ExecutionAuthorized never          `json:"execution_authorized"`
	Provenance          string         `json:"provenance"`
	// Hash is the short canonical hash of everything above.
	Hash string `json:"manifest_hash"`
}

// ManifestNode holds the fields of a Node that the manifest binds.
type ManifestNode struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Done      bool     `json:"done"`
	DependsOn []string `json:"depends_on"`
	Files     []string `json:"files"`
	Tests     []string `json:"tests"`
	Order     int      `json:"order"`
	Source    string   `json:"source"`
	Command   string   `json:"command,omitempty"`
	Shell     string   `json:"shell,omitempty"`
	State     State    `json:"state,omitempty"`
}

// Manifest returns the manifest with its hash.
func (d *Dag) Manifest() Manifest {
	m := Manifest{
		TaskID: d.TaskID, Objective: d.Objective, Acceptance: d.acceptance(), Scope: notNil(d.Scope),
		Nodes: make([]ManifestNode, 0, len(d.Nodes)), Provenance: ManifestProvenance, Hash: d.ManifestHash(),
	}
	if next := d.NextNode(); next != "" {
		m.NextNode = &next
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		m.Nodes = append(m.Nodes, ManifestNode{
			ID: n.ID, Title: n.Title, Done: n.Done, DependsOn: notNil(n.DependsOn), Files: notNil(n.Files),
			Tests: notNil(n.Tests), Order: n.Order, Source: n.Source, Command: n.Command, Shell: n.Shell, State: n.State,
		})
	}
	return m
}

// acceptance is the text of the acceptance criteria, one a line.
func (d *Dag) acceptance() string { return strings.Join(d.Acceptance, "\n") }

// ManifestHash returns the manifest's hash: 16 hex digits that change with the
// objective, acceptance, scope, and everything the nodes are and run.
func (d *Dag) ManifestHash() string {
	size := 1024
	for i := range d.Nodes {
		n := &d.Nodes[i]
		size += 160 + 5*len(n.ID)/4 + 5*len(n.Title)/4 + len(n.Command) + 64*len(n.DependsOn) + 48*(len(n.Files)+len(n.Tests))
	}
	var next any
	if id := d.NextNode(); id != "" {
		next = id
	}
	// The payload before the hash is added to it.
	form, err := canonjson.Append(make([]byte, 0, size), canonjson.Object{
		{Key: "acceptance", Value: d.acceptance()},
		{Key: "execution_authorized", Value: false},
		{Key: "next_node", Value: next},
		{Key: "nodes", Value: boundNodes(d.Nodes)},
		{Key: "objective", Value: d.Objective},
		{Key: "provenance", Value: ManifestProvenance},
		{Key: "scope", Value: d.Scope},
		{Key: "task_id", Value: d.TaskID},
	})
	if err != nil {
		// Text that is not UTF-8 cannot come out of Parse. A hash that never matches
		// is safer than one over something else.
		return "unhashable"
	}
	return canonjson.Short(form)
}

// boundNodes writes what the manifest binds of each node.
type boundNodes []Node

// AppendCanonical writes the nodes in canonical form, optional fields only where
// they are set. It writes the keys itself, in their order, because lists of
// members would cost more than everything else about a manifest.
func (nodes boundNodes) AppendCanonical(dst []byte) ([]byte, error) {
	dst = append(dst, '[')
	for i := range nodes {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		n := &nodes[i]
		w := canonjson.NewObject(dst)
		if n.Command != "" {
			w.String("command", n.Command)
		}
		w.Strings("depends_on", n.DependsOn)
		w.Bool("done", n.Done)
		w.Strings("files", n.Files)
		w.String("id", n.ID)
		w.Int("order", n.Order)
		if n.Shell != "" {
			w.String("shell", n.Shell)
		}
		w.String("source", n.Source)
		if n.State != "" {
			w.String("state", string(n.State))
		}
		w.Strings("tests", n.Tests)
		w.String("title", n.Title)
		var err error
		if dst, err = w.Close(); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}
