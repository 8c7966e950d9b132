package ticket

// Dag is the execution DAG of one ticket.
type Dag struct {
	TaskID string `json:"task_id"`
	Nodes  []Node `json:"nodes"` // in topological order
}

// Node is one step of the DAG. Fields as the seed names them, plus Command.
type Node struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Done      bool     `json:"done"`
	DependsOn []string `json:"depends_on"`
	Files     []string `json:"files"`
	Tests     []string `json:"tests"`
	Order     int      `json:"order"`
	Source    string   `json:"source"`
	Command   string   `json:"command,omitempty"`
}

// Ticket is one parsed ticket.
type Ticket struct {
	ID string `json:"id"`
}
