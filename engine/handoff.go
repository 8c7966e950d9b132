package engine

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/ticket"
)

// handoffFile is the name of the packet in the plan's handoff folder.
const handoffFile = "handoff.json"

// writeHandoff leaves the ticket's packet where every step finds it: prepared
// state with the attached files as they are in the resource, and no permission.
func (e *Engine) writeHandoff(p *Plan, req StageRequest) error {
	payload := ticket.Handoff(req.Dag, p.declared(), e.attached(p, req.Dag))
	raw, err := json.MarshalIndent(payload, "", "  ")
	if err != nil {
		return fault.Wrap(fault.Internal, "write handoff", err)
	}
	if err := writeDurable(filepath.Join(p.Dir, "handoff", handoffFile), append(raw, '\n')); err != nil {
		return folderFault("write handoff", err)
	}
	return nil
}

// declared is the boundary of the plan as the packet states it.
func (p *Plan) declared() any {
	type box struct {
		Resource string       `json:"resource"`
		Path     string       `json:"path"`
		Strategy StrategyName `json:"strategy"`
		ReadOnly bool         `json:"read_only,omitempty"`
	}
	out := struct {
		Plan    string   `json:"plan"`
		Confine Rung     `json:"confine"`
		Network Network  `json:"network"`
		Home    HomeMode `json:"home"`
		Boxes   []box    `json:"sandboxes"`
	}{Plan: p.ID, Confine: p.Rung, Network: p.Options.Network, Home: p.Options.Home}
	for _, s := range p.Sandboxes {
		out.Boxes = append(out.Boxes, box{s.Resource.Name, s.Resource.Path, s.Strategy, s.Resource.ReadOnly})
	}
	return out
}

// attached reads the files that the ticket's steps name, where they exist
// already. They lie in a tree that anybody may have written, so they are opened
// by descriptor, and what is no regular file is left out.
func (e *Engine) attached(p *Plan, d *ticket.Dag) []ticket.ContextFile {
	if len(p.Sandboxes) == 0 {
		return nil
	}
	root, err := fsop.OpenRoot(p.Sandboxes[0].Resource.Path)
	if err != nil {
		return nil
	}
	defer root.Close()
	seen := map[string]bool{}
	var out []ticket.ContextFile
	for i := range d.Nodes {
		for _, name := range append(append([]string(nil), d.Nodes[i].Files...), d.Nodes[i].Tests...) {
			if seen[name] || !fs.ValidPath(name) || name == "." {
				continue
			}
			seen[name] = true
			if data, err := fsop.ReadFile(root, name, ticket.MaxPacketText); err == nil {
				out = append(out, ticket.NewContextFile(name, data))
			}
		}
	}
	return out
}

// writePrompt writes what the agent of a step is told and returns the file.
func (r *runner) writePrompt(s *Step) (string, error) {
	p := r.plan
	node := p.Ticket.Dag.Node(s.ID)
	if node == nil {
		return "", fault.New(fault.Internal, "write prompt", "step %s is not in the plan's DAG", s.ID)
	}
	in := ticket.PromptInput{}
	for i := range p.Steps {
		t := &p.Steps[i]
		if t.ID == s.ID || t.Group || t.Runs == 0 || t.Status == StepPending {
			continue
		}
		rec, err := readPaths(filepath.Join(p.Dir, "steps", t.ID+".json"))
		if err != nil {
			return "", err
		}
		ps := ticket.PromptStep{ID: t.ID, Title: t.Title, Outcome: string(t.Status)}
		for _, sb := range p.Sandboxes {
			for _, ch := range rec[sb.ID] {
				ps.Files = append(ps.Files, string(ch.Path))
			}
		}
		in.Before = append(in.Before, ps)
	}
	path := filepath.Join(p.Dir, "handoff", s.ID+".prompt.md")
	if err := os.WriteFile(path, []byte(ticket.Prompt(p.Ticket.Dag, node, in)), 0o600); err != nil {
		return "", folderFault("write prompt", err)
	}
	return path, nil
}
