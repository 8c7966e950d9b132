//go:build linux

package none

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

func request(t *testing.T) engine.CreateRequest {
	t.Helper()
	base := t.TempDir()
	src, dir := filepath.Join(base, "src"), filepath.Join(base, "s1")
	for _, d := range []string{src, dir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return engine.CreateRequest{
		Plan: "p", ID: "s1", Dir: dir, Now: time.Now(),
		Resource: engine.Resource{Name: "src", Type: engine.TypeFSDirectory, Path: src},
	}
}

func TestO24_RefusesInsteadOfDoingNothing(t *testing.T) {
	t.Parallel()
	ctx, req := t.Context(), request(t)
	p, err := New().Probe(ctx, req)
	if err != nil || !p.OK {
		t.Fatal(p, err)
	}
	sb, err := New().Create(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"checkpoint": sb.Checkpoint(ctx, "x"), "restore": sb.Restore(ctx, engine.CheckpointCreation), "rollback": sb.Rollback(ctx),
	} {
		if !fault.Is(err, fault.Unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	set, src, err := sb.Changes(ctx, engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
	if err != nil || len(set.Changes) != 0 || len(set.Notices) != 1 || set.Notices[0] != NotTracked {
		t.Errorf("changes: %+v %v", set, err)
	}
	if _, err := src.Open(0, "x"); !fault.Is(err, fault.Unsupported) {
		t.Errorf("contents: %v", err)
	}
	if names, err := sb.Checkpoints(ctx); err != nil || len(names) != 0 {
		t.Errorf("checkpoints: %v %v", names, err)
	}
}

func TestO34_AttachedByAnotherProcess(t *testing.T) {
	t.Parallel()
	ctx, req := t.Context(), request(t)
	rec := engine.SandboxRecord{ID: "s1", Plan: "p", Resource: req.Resource, Dir: req.Dir}
	if _, err := New().Attach(ctx, rec); !fault.Is(err, fault.NotFound) {
		t.Fatalf("attached to nothing: %v", err)
	}
	req.Confined = true
	for range 2 { // idempotent
		if _, err := New().Create(ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	sb, err := New().Attach(ctx, rec)
	if err != nil {
		t.Fatal(err)
	}
	en, err := sb.Enter(ctx)
	if err != nil || en.Root != req.Resource.Path || len(en.Mounts) != 1 || en.Mounts[0].Source != req.Resource.Path {
		t.Fatalf("%+v %v", en, err)
	}
	rec.Plan = "another"
	if _, err := New().Attach(ctx, rec); !fault.Is(err, fault.IdentityChanged) {
		t.Errorf("another plan's folder: %v", err)
	}
}

func TestDestroyLeavesTheResource(t *testing.T) {
	t.Parallel()
	ctx, req := t.Context(), request(t)
	sb, err := New().Create(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	en, err := sb.Enter(ctx)
	if err != nil || en.Path != req.Resource.Path || len(en.Mounts) != 0 {
		t.Fatalf("%+v %v", en, err)
	}
	mine := filepath.Join(req.Resource.Path, "f")
	if err := os.WriteFile(mine, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := sb.Destroy(ctx, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(req.Dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
