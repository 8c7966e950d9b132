package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/config"
)

// deps is everything a command gets from outside, and what it opened of it.
// One deps serves one command line; it is not safe for concurrent use.
type deps struct {
	environ []string
	getwd   func() (string, error)
	stdin   *os.File
	stdout  io.Writer
	stderr  io.Writer
	now     func() time.Time
	open    func(context.Context, config.Config) (engine.Service, func() error, error)
	roots   func(paths []string) []string

	interrupts *interrupts // nil in tests that send no signals

	json    bool // --json
	noPager bool // --no-pager

	ungranted *[]engine.Missing // set by commands that only show what run would do: what it would ask

	sources map[string][]byte // texts that diagnostics may point into, by file name

	cfg    *config.Config
	svc    engine.Service
	closer func() error
}

func (d *deps) getenv(name string) (string, bool) { return config.Environ(d.environ)(name) }

// dir is where the person stands.
func (d *deps) dir() (string, error) {
	dir, err := d.getwd()
	if err != nil {
		return "", fault.New(fault.NotFound, "find the current directory", "the current directory is gone").
			WithCause(err).WithHint("cd into a directory that exists")
	}
	return dir, nil
}

// place is dir without links, and the way the person typed it ($PWD) where that
// is another spelling of the same directory.
func (d *deps) place() (dir, spelled string, err error) {
	typed, err := d.dir() // os.Getwd prefers a valid $PWD
	if err != nil {
		return "", "", err
	}
	real, err := filepath.EvalSymlinks(typed)
	if err != nil {
		return "", "", fault.New(fault.NotFound, "find the current directory", "%s cannot be reached", typed).
			WithCause(err).WithHint("cd into a directory that exists")
	}
	if real != typed {
		return real, typed, nil
	}
	return real, "", nil
}

// config reads the configuration once. resources are the paths whose project
// files count; warnings are shown.
func (d *deps) config(resources ...string) (config.Config, error) {
	if d.cfg != nil {
		return *d.cfg, nil
	}
	home, _ := d.getenv("HOME")
	cfg, warnings, err := config.Load(config.Sources{
		Getenv: d.getenv, HomeDir: home, Roots: d.roots(resources),
	})
	if err != nil {
		return cfg, err
	}
	d.diagnostics(warnings)
	d.cfg = &cfg
	return cfg, nil
}

// service opens the engine once.
func (d *deps) service(ctx context.Context) (engine.Service, error) {
	if d.svc != nil {
		return d.svc, nil
	}
	cfg, err := d.config()
	if err != nil {
		return nil, err
	}
	svc, closer, err := d.open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d.svc, d.closer = svc, closer
	return svc, nil
}

// close closes what service opened.
func (d *deps) close() error {
	if d.closer == nil {
		return nil
	}
	closer := d.closer
	d.svc, d.closer = nil, nil
	return closer()
}

// main runs one command line and returns the exit code.
func (d *deps) main(ctx context.Context, args []string) int {
	d.json = wantsJSON(args) // so that a mistake in the flags is an object, too
	out, said := &printed{name: "stdout", to: d.stdout}, &printed{name: "stderr", to: d.stderr, quiet: true}
	d.stdout, d.stderr = out, said
	root := newRootCmd(d) //nolint:contextcheck // each command gets its context from cobra
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if closeErr := d.close(); err == nil && closeErr != nil {
		err = fault.Wrap(fault.Internal, "close the store", closeErr)
	}
	err = out.lost(err)
	if !d.json { // there stdout has said everything
		err = said.lost(err)
	}
	return d.report(ctx, cmd, err)
}
