//go:build linux

package crash

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	applygit "github.com/ambit-run/ambit/internal/apply/git"
	applytree "github.com/ambit-run/ambit/internal/apply/tree"
	"github.com/ambit-run/ambit/internal/cli"
	"github.com/ambit-run/ambit/internal/discover"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/procid"
	"github.com/ambit-run/ambit/internal/sandbox"
	"github.com/ambit-run/ambit/internal/store/sqlite"
	"github.com/ambit-run/ambit/ticket"
)

func TestMain(m *testing.M) {
	if code, handled := cli.Reexec(os.Args); handled {
		os.Exit(code)
	}
	if filepath.Base(os.Args[0]) == "ambit" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// faults fails the n-th file-system call that the targets make.
type faults struct{ left atomic.Int64 }

var errFault = errors.New("injected fault")

func (f *faults) call(string, string) error {
	if f.left.Add(-1) == 0 {
		return &os.PathError{Op: "injected", Path: "fault", Err: errors.Join(errFault, syscall.EIO)}
	}
	return nil
}

// arm makes the n-th call from now fail; 0 disarms.
func (f *faults) arm(n int64) { f.left.Store(n) }

// hit reports whether the armed call came.
func (f *faults) hit() bool { return f.left.Load() <= 0 }

const faultTicket = `# Faults

- [ ] Change both

  ` + "```sh" + `
  for d in . "$DIR"; do
    echo more >> "$d/f1.txt"; rm "$d/f2.txt"; mkdir -p "$d/new/deep"; echo x > "$d/new/deep/x"; ln -s f1.txt "$d/link"; chmod 755 "$d/f3.txt"
  done
  ` + "```" + `
`

// newEngine builds a real engine over the world's resources whose targets fail
// when f says so.
func (w *world) newEngine(f *faults) *engine.Engine {
	w.t.Helper()
	git := w.hostGit()
	files := applytree.New(applytree.Options{Intercept: f.call})
	return w.engineWith(git, files, applygit.New(applygit.Config{Git: git, Files: files, Intercept: f.call}, engine.ToCommit))
}

func (w *world) hostGit() *gitx.Git {
	return gitx.New(gitx.Config{Path: os.Getenv("PATH"), Home: filepath.Join(w.base, "home"), Dir: filepath.Join(w.home, "git")})
}

func (w *world) engineWith(git *gitx.Git, targets ...engine.Target) *engine.Engine {
	w.t.Helper()
	ctx := context.Background()
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		w.t.Fatal(err)
	}
	db, err := sqlite.Open(ctx, filepath.Join(w.home, "ambit.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			w.t.Error(err)
		}
	})
	var store engine.Store = db
	if w.store != nil {
		store = w.store(db)
	}
	self, err := procid.Self()
	if err != nil {
		w.t.Fatal(err)
	}
	eng, err := engine.New(engine.Config{StateDir: w.home, HomeDir: filepath.Join(w.base, "home"), Environ: os.Environ(), UID: os.Geteuid()}, engine.Deps{
		Store: store, Discoverer: discover.New(git, w.home),
		Strategies: sandbox.All(sandbox.Deps{Git: git}), Confiners: w.confiners(),
		Targets: targets,
		Self:    engine.Lease{PID: self.PID, Start: self.Start, BootID: self.Boot, PIDNS: self.NS},
		Alive:   func(engine.Lease) bool { return false },
		Now:     time.Now, Rand: rand.Reader,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return eng
}

// faultPlan stages and runs the fault ticket over both resources.
func (w *world) faultPlan(eng *engine.Engine, environ []string) *engine.Plan {
	w.t.Helper()
	ctx := context.Background()
	p := w.stageFaults(eng, environ)
	if _, err := eng.Run(ctx, engine.RunRequest{Plan: p.ID, Environ: environ}); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// stageFaults stages the fault ticket over both resources.
func (w *world) stageFaults(eng *engine.Engine, environ []string) *engine.Plan {
	w.t.Helper()
	ctx := context.Background()
	tk, ds := ticket.Parse("faults.md", []byte(faultTicket), ticket.Options{})
	if err := ticket.AsError("parse", ds); err != nil {
		w.t.Fatal(err)
	}
	dag, _ := ticket.Build(tk, ticket.BuildOptions{})
	p, err := eng.Stage(ctx, engine.StageRequest{
		Dir: w.repo, Resources: []string{w.repo, w.dir}, Ticket: tk, TicketSrc: []byte(faultTicket), Dag: dag, Environ: environ,
		Options: engine.PlanOptions{Env: []string{"DIR"}, Home: engine.HomeHidden, Network: engine.NetworkNone},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// TestFaultAtEveryCall fails every file-system call of an apply, and of an undo,
// over one git checkout and one plain directory in the same plan. Whatever
// fails, after recover both are old or both are new.
func TestFaultAtEveryCall(t *testing.T) {
	w := newWorld(t, "")
	var f faults
	eng := w.newEngine(&f)
	ctx := context.Background()
	environ := []string{"PATH=" + os.Getenv("PATH"), "DIR=" + w.dir}
	p := w.faultPlan(eng, environ)
	apply := func() error {
		_, err := eng.Apply(ctx, engine.ApplyRequest{Plan: p.ID})
		return err
	}
	undo := func() error {
		_, err := eng.Undo(ctx, p.ID)
		return err
	}
	if err := apply(); err != nil { // once without faults: what new is
		t.Fatal(err)
	}
	w.newRepo, w.newDir = w.treeHash(w.repo), w.treeHash(w.dir)
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	for _, op := range []struct {
		name   string
		do     func() error
		before func() error
	}{
		{"apply", apply, nil},
		{"undo", undo, apply},
	} {
		// Every seventh call, from another one each time; every one with
		// AMBIT_FAULT_STRIDE=1 (make soak).
		stride := int64(7)
		if v := os.Getenv("AMBIT_FAULT_STRIDE"); v != "" {
			if _, err := fmt.Sscan(v, &stride); err != nil || stride < 1 {
				t.Fatalf("AMBIT_FAULT_STRIDE=%q", v)
			}
		}
		outcomes := map[string]int{}
		n := 1 + time.Now().UnixNano()%stride
		for ; ; n += stride {
			if op.before != nil {
				if err := op.before(); err != nil {
					t.Fatalf("%s %d: prepare the round: %v", op.name, n, err)
				}
			}
			f.arm(n)
			err := op.do()
			hit := f.hit()
			f.arm(0)
			rep, rerr := eng.Recover(ctx, "")
			if rerr != nil {
				t.Fatalf("%s with call %d failing (%v): recover: %v", op.name, n, err, rerr)
			}
			for _, p := range rep.Plans {
				if p.Error != "" {
					t.Fatalf("%s with call %d failing (%v): recover: %s", op.name, n, err, p.Error)
				}
			}
			age := w.age()
			if age == "" {
				t.Fatalf("%s with call %d failing (%v): neither old nor new\n%s", op.name, n, err, w.git("status", "--porcelain"))
			}
			outcomes[age]++
			if age == "new" {
				if err := undo(); err != nil {
					t.Fatalf("%s %d: back to old: %v", op.name, n, err)
				}
			}
			if got := w.age(); got != "old" {
				t.Fatalf("%s %d: the way back did not lead to old but to %q", op.name, n, got)
			}
			if !hit {
				break
			}
		}
		t.Logf("%s: every %dth of %d calls failed in turn, outcomes %v", op.name, stride, n-1, outcomes)
		if n < 50 {
			t.Errorf("%s: only %d calls were seen; the faults do not reach the work", op.name, n-1)
		}
	}
}

// age is "old" or "new" when both resources are, else "".
func (w *world) age() string {
	repo, dir := w.treeHash(w.repo), w.treeHash(w.dir)
	clean := w.git("status", "--porcelain") == ""
	switch {
	case repo == w.oldRepo && dir == w.oldDir && clean:
		return "old"
	case repo == w.newRepo && dir == w.newDir && clean:
		return "new"
	}
	return ""
}
