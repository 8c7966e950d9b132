package overlay_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/discover"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
	"github.com/ambit-run/ambit/internal/sandbox/overlay"
)

func TestGitFirst(t *testing.T) {
	ctx := context.Background()
	r := gittest.New(t)
	r.Write("a", "alpha\n")
	r.Write("d/x", "x\n")
	r.Write(".gitignore", "*.o\nnode_modules/\n")
	r.Commit("one")
	r.Git("tag", "-a", "-m", "v1", "v1")
	r.Git("branch", "other")
	r.Write("a", "dirty\n")
	r.Write("new", "untracked\n")
	r.Write("node_modules/m/i.js", "ignored\n")
	git := gittest.Git(t)
	res, err := discover.New(git, "").Discover(ctx, r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := overlay.New(overlay.Options{Git: git})
	req := engine.CreateRequest{Plan: "try-12345", ID: "s1", Dir: dir, BasesDir: filepath.Join(root, "bases"),
		Resource: res, Lower: engine.LowerLive, Confined: true, Now: time.Now()}
	p, err := s.Probe(ctx, req)
	t.Logf("%+v %v", p, err)
	start := time.Now()
	sb, err := s.Create(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("create %s %+v", time.Since(start), sb.Info())
	en, err := sb.Enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out, err := conformance.Inside(en, `git status -sb; git log --oneline --decorate; git for-each-ref; git commit -qam inside; git status -sb; git gc -q --prune=now; git branch -f other HEAD; git tag t2; git fsck; git log --all --oneline --decorate`)
	t.Log(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.Git("status", "-sb"))
	t.Log(r.Git("log", "--all", "--oneline", "--decorate"))
	set, _, err := sb.Changes(ctx, engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.MarshalIndent(set, "", " ")
	t.Log(string(raw))
}
