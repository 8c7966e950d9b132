package overlay_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
	"github.com/ambit-run/ambit/internal/sandbox/overlay"
)

func TestFirst(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	src, dir := filepath.Join(root, "src"), filepath.Join(root, "state")
	for _, d := range []string{src, dir, filepath.Join(src, "d"), filepath.Join(src, "gone")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for n, c := range map[string]string{"a": "alpha\n", "b": "beta\n", "d/x": "x\n", "gone/y": "y\n", "gone/z": "z\n"} {
		if err := os.WriteFile(filepath.Join(src, n), []byte(c), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := overlay.New(overlay.Options{})
	req := engine.CreateRequest{Plan: "try-12345", ID: "s1", Dir: dir, BasesDir: filepath.Join(root, "bases"),
		Resource: engine.Resource{Name: "src", Type: engine.TypeFSDirectory, Path: src}, Lower: engine.LowerLive, Confined: true, Now: time.Now()}
	start := time.Now()
	p, err := s.Probe(ctx, req)
	t.Logf("%+v %v %s", p, err, time.Since(start))
	start = time.Now()
	p, err = s.Probe(ctx, req)
	t.Logf("%+v %v %s", p, err, time.Since(start))
	start = time.Now()
	sb, err := s.Create(ctx, req)
	t.Logf("create %s", time.Since(start))
	if err != nil {
		t.Fatal(err)
	}
	en, err := sb.Enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out, err := conformance.Inside(en, `echo more >> a; mv b c; rm -r gone; mkdir gone; echo n > gone/n; chmod 600 d/x; ln -s a l; mkfifo ff; id; ls -la`)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(out)
	set, _, err := sb.Changes(ctx, engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.MarshalIndent(set, "", " ")
	t.Log(string(raw))
	if err := sb.Destroy(ctx, false); err != nil {
		t.Fatal(err)
	}
	if es, _ := os.ReadDir(dir); len(es) != 0 {
		t.Fatal(es)
	}
}
