package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/config"
	"github.com/ambit-run/ambit/internal/confine"
	"github.com/ambit-run/ambit/internal/discover"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/procid"
	"github.com/ambit-run/ambit/internal/sandbox"
	"github.com/ambit-run/ambit/internal/store/sqlite"
)

// reexecs are the hooks of the technologies that start ambit a second time. Each
// looks at the arguments and says whether they were meant for it.
var reexecs = []func(args []string) (code int, handled bool){
	func(args []string) (int, bool) {
		handled, code := confine.Reexec(args)
		return code, handled
	},
}

// newService builds the engine with its technologies. The returned function
// closes what was opened.
func newService(ctx context.Context, cfg config.Config) (engine.Service, func() error, error) {
	state, err := stateFolder(cfg.StateDir)
	if err != nil {
		return nil, nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return nil, nil, fault.New(fault.Invalid, "start", "HOME is not set to an absolute path").WithHint("set HOME to your home folder")
	}
	self, err := procid.Self()
	if err != nil {
		return nil, nil, err
	}
	git := gitx.New(gitx.Config{
		Path: os.Getenv("PATH"), Home: home, XDGConfigHome: os.Getenv("XDG_CONFIG_HOME"), Dir: filepath.Join(state, "git"),
	})
	store, err := sqlite.Open(ctx, filepath.Join(state, "ambit.db"))
	if err != nil {
		return nil, nil, err
	}
	eng, err := engine.New(engine.Config{
		StateDir: state, HomeDir: home, Environ: os.Environ(), UID: os.Geteuid(), StepTimeout: cfg.Timeout, Version: buildID(),
		TrashAge: cfg.TrashMaxAge, TrashBytes: cfg.TrashMaxBytes,
	}, engine.Deps{
		Store:      store,
		Discoverer: discover.New(git, home),
		Strategies: sandbox.All(sandbox.Deps{Git: git}),
		Confiners:  confine.All(),
		Targets:    targets(git),
		Self:       engine.Lease{PID: self.PID, Start: self.Start, BootID: self.Boot, PIDNS: self.NS},
		Alive:      leaseAlive,
		Now:        time.Now,
		Rand:       rand.Reader,
		Author:     author(git),
		Refs:       references(git),
		Programs:   programs(git),
		Facts:      facts,
	})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return eng, store.Close, nil
}

// stateFolder makes the state folder and returns its canonical path: sandboxes
// compare paths, so it must have one spelling only.
func stateFolder(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fault.New(fault.Unavailable, "start", "the state folder %s cannot be made", dir).WithCause(err).
			WithHint("point AMBIT_HOME at a folder you can write")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, "start", err)
	}
	return real, nil
}

func leaseAlive(l engine.Lease) bool {
	alive, err := procid.Alive(procid.ID{PID: l.PID, Start: l.Start, Boot: l.BootID, NS: l.PIDNS})
	return alive || err != nil // not known is alive: nothing is taken from a process that may live
}

// author reads who the person is, once per checkout.
func author(git *gitx.Git) func(context.Context, engine.Resource) string {
	return func(ctx context.Context, r engine.Resource) string {
		if r.Git == nil {
			return ""
		}
		repo, err := git.Repo(gitx.Location{GitDir: r.Git.GitDir, CommonDir: r.Git.CommonDir, WorkTree: r.Path})
		if err != nil {
			return ""
		}
		id, ok, err := repo.Identity(ctx)
		if err != nil || !ok {
			return ""
		}
		return id.Name + " <" + id.Email + ">"
	}
}

// references reads what a checkout's references hold.
func references(git *gitx.Git) func(context.Context, engine.Resource) (map[string]string, error) {
	return func(ctx context.Context, r engine.Resource) (map[string]string, error) {
		repo, err := git.Repo(gitx.Location{GitDir: r.Git.GitDir, CommonDir: r.Git.CommonDir, WorkTree: r.Path})
		if err != nil {
			return nil, err
		}
		refs, err := repo.Refs(ctx)
		if err != nil {
			return nil, err
		}
		out := make(map[string]string, len(refs))
		for _, ref := range refs {
			out[ref.Name] = ref.Object
		}
		return out, nil
	}
}

// buildID tells builds apart, also those that carry no version: a boundary proved
// by one build says nothing about another.
func buildID() string {
	b := build()
	id := b.Version + " " + b.Commit
	if info, err := os.Stat("/proc/self/exe"); err == nil {
		id += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
	}
	return id
}
