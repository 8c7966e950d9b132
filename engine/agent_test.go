package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

func TestCheckAgent(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	bin, res := filepath.Join(tmp, "bin"), filepath.Join(tmp, "res")
	err := errors.Join(os.Mkdir(bin, 0o755), os.MkdirAll(filepath.Join(res, "bin"), 0o755), os.Mkdir(filepath.Join(bin, "folder"), 0o755),
		os.WriteFile(filepath.Join(bin, "there"), nil, 0o755), os.WriteFile(filepath.Join(bin, "text"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	needs := &ticket.Dag{Nodes: []ticket.Node{{ID: "a", Command: "true"}, {ID: "b"}}}
	own := &ticket.Dag{Nodes: []ticket.Node{{ID: "a", Command: "true"}}}
	for _, c := range []struct {
		name  string
		dag   *ticket.Dag
		agent []string
		path  string
		env   []string
		gone  bool
	}{
		{"there", needs, []string{"there", "gone"}, "/nowhere:" + bin, nil, false},
		{"gone", needs, []string{"gone"}, "/nowhere:" + bin, nil, true},
		{"a folder is no program", needs, []string{"folder"}, bin, nil, true},
		{"nor is a text", needs, []string{"text"}, bin, nil, true},
		{"no step needs it", own, []string{"gone"}, bin, nil, false},
		{"no agent", needs, nil, bin, nil, false},
		{"a path", needs, []string{"./gone"}, bin, nil, false},
		{"a placeholder", needs, []string{"{title}"}, bin, nil, false},
		{"a folder of the resource, where a step may make it", needs, []string{"gone"}, bin + ":" + res + "/bin", nil, false},
		{"a relative folder", needs, []string{"gone"}, bin + ":node_modules/.bin", nil, false},
		{"another PATH inside", needs, []string{"there"}, bin, []string{"PATH=/nowhere"}, true},
		{"no PATH", needs, []string{"gone"}, "", nil, false},
	} {
		req := StageRequest{Dag: c.dag, Agent: c.agent, Environ: []string{"PATH=" + c.path}, Options: PlanOptions{Env: c.env}}
		err := (&Engine{}).checkAgent(req, []Resource{{Path: res}})
		if fault.Is(err, fault.NotFound) != c.gone || !c.gone && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestTicketHome: paths in a ticket are relative to its folder, in a folder of
// tickets to that itself; what lies beside them is attached.
func TestTicketHome(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	folder := filepath.Join(tmp, "tickets")
	err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, "a.md"), nil, 0o644),
		os.WriteFile(filepath.Join(folder, "beside.txt"), []byte("in"), 0o644), os.WriteFile(filepath.Join(tmp, "above.txt"), []byte("out"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{folder: folder, filepath.Join(folder, "a.md"): folder, filepath.Join(tmp, "gone.md"): tmp} {
		if got := TicketHome(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	req := StageRequest{TicketPath: folder, Dag: &ticket.Dag{Nodes: []ticket.Node{{ID: "a", Files: []string{"beside.txt", "above.txt"}}}}}
	files := attached(&Plan{}, req)
	if len(files) != 1 || files[0].Path != "beside.txt" {
		t.Errorf("%+v", files)
	}
}
