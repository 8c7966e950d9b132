package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
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
	payload := ticket.Handoff(req.Dag, p.declared(), attached(p, req))
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
		Plan    string   `json:"plan,omitempty"` // none where nothing was staged
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

// maxContextRead bounds what is read of one attached file, in bytes. It has to be
// read whole for its hash; a disk image is context for nobody.
const maxContextRead = 256 << 20

// attached reads the files that the ticket's steps name, where they exist
// already: in the plan's resources, in their order, or beside the ticket. They lie
// in trees that anybody may have written, so they are opened by descriptor, and
// what is no regular file is named and not opened.
func attached(p *Plan, req StageRequest) []ticket.ContextFile {
	var roots []*fsop.Dir
	open := func(path string) {
		if root, err := fsop.OpenRoot(path); err == nil {
			roots = append(roots, root)
		}
	}
	for i := range p.Sandboxes {
		open(p.Sandboxes[i].Resource.Path)
	}
	if req.TicketPath != "" {
		open(TicketHome(req.TicketPath))
	}
	seen := map[string]bool{}
	var out []ticket.ContextFile
	for i := range req.Dag.Nodes {
		n := &req.Dag.Nodes[i]
		for _, name := range append(append([]string(nil), n.Files...), n.Tests...) {
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, root := range roots {
				if f, there := contextFile(root, name); there {
					out = append(out, f)
					break
				}
			}
		}
	}
	for _, root := range roots {
		_ = root.Close() // only read from
	}
	return out
}

// TicketHome is the folder a ticket lies in: what its paths are relative to. A
// folder of tickets is its own.
func TicketHome(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

// contextFile reads one attached file. There is none if nothing has that name.
func contextFile(root *fsop.Dir, name string) (file ticket.ContextFile, there bool) {
	skip := func(why string) (ticket.ContextFile, bool) {
		return ticket.ContextFile{Path: name, Skipped: why}, true
	}
	rel := path.Clean(name)
	if !fs.ValidPath(rel) || rel == "." {
		return skip("no path below a resource")
	}
	f, info, err := root.Open(rel)
	switch {
	case fault.Is(err, fault.NotFound):
		return ticket.ContextFile{}, false
	case err != nil:
		return skip("no regular file that can be opened without following links")
	}
	defer f.Close()
	if info.Size > maxContextRead {
		return skip(fmt.Sprintf("%d bytes; files up to %d are read", info.Size, maxContextRead))
	}
	// It may grow while it is read.
	file, err = ticket.NewContextFile(name, io.LimitReader(f, maxContextRead))
	if err != nil {
		return skip(err.Error())
	}
	return file, true
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
		rec, err := readPaths(p.recordPath(t.ID))
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
	file := filepath.Join(p.Dir, "handoff", promptName(s.ID))
	if err := os.WriteFile(file, []byte(ticket.Prompt(p.Ticket.Dag, node, in)), 0o600); err != nil {
		return "", folderFault("write prompt", err)
	}
	return file, nil
}
