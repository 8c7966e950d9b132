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

func TestFrozenFirst(t *testing.T) {
	ctx := context.Background()
	r := gittest.New(t)
	r.Write("a", "alpha\n")
	r.Write("d/x", "x\n")
	r.Write("d/y", "y\n")
	r.Write("e/only", "o\n")
	r.Write("kind", "file\n")
	r.Write("kdir/f", "file\n")
	r.Write(".gitignore", "*.o\nnode_modules/\n.env\n")
	r.Commit("one")
	r.Write("a", "dirty\n")
	r.Write("new", "untracked\n")
	r.Write("d/new2", "untracked\n")
	r.Write("node_modules/m/i.js", "ignored\n")
	r.Write("d/z.o", "ignored\n")
	r.Write(".env", "SECRET\n")
	os.RemoveAll(r.Dir + "/e")
	os.Remove(r.Dir + "/d/y")
	os.Remove(r.Dir + "/kind")
	r.Write("kind/sub", "now dir\n")
	os.RemoveAll(r.Dir + "/kdir")
	r.Write("kdir", "now file\n")
	git := gittest.Git(t)
	res, err := discover.New(git, "").Discover(ctx, r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, id := range []string{"s1", "s2"} {
		dir := filepath.Join(root, "state"+id)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s := overlay.New(overlay.Options{Git: git})
		req := engine.CreateRequest{Plan: "try-12345", ID: id, Dir: dir, BasesDir: filepath.Join(root, "bases"),
			Resource: res, Lower: engine.LowerFrozen, Dirty: engine.DirtyCarry, Confined: true, Now: time.Now()}
		p, err := s.Probe(ctx, req)
		t.Logf("%+v %v", p, err)
		start := time.Now()
		sb, err := s.Create(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("create %s %+v", time.Since(start), sb.Info())
		r.Write("later", "untracked later\n")
		r.Write("d/later", "untracked later\n")
		en, err := sb.Enter(ctx)
		if err != nil {
			t.Fatal(err)
		}
		en, err = sb.Enter(ctx)
		if err != nil {
			t.Fatal(err)
		}
		out, err := conformance.Inside(en, `git status -sb; git diff --stat; git status -sb --ignored; git log --oneline --decorate; git show --stat HEAD; find . -path ./.git -prune -o -print; echo in > a; echo z > d/x; git commit -qam inside; git status -sb; git fsck;  git log --all --oneline --decorate; cat .env; rm kind/sub; rm -r d`)
		t.Log(out)
		if err != nil {
			t.Fatal(err)
		}
		set, _, err := sb.Changes(ctx, engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.MarshalIndent(set, "", " ")
		if id == "s2" {
			t.Log(string(raw))
		}
		for _, c := range set.Changes {
			t.Log(c.Op, c.Path, c.From)
		}
	}
	t.Log(r.Git("status", "-sb"))
}
