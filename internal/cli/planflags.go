package cli

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/config"
)

// planFlags are the flags with which try and run make a plan.
type planFlags struct {
	confine   engine.Rung
	network   engine.Network
	strategy  engine.StrategyName
	lower     engine.Lower
	dirty     engine.Dirty
	home      engine.HomeMode
	include   []string
	resources []string
	env       []string
	readWrite []string
	timeout   string
	asRoot    bool

	lowerUnasked engine.Lower // what the command stands on where --lower does not say
}

// register adds the flags to a command.
func (f *planFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	choiceFlag(cmd, &f.confine, "confine", config.Rungs, config.LaterRungs, "how commands are confined (default auto)")
	choiceFlag(cmd, &f.network, "network", config.Networks, config.LaterNetworks, "what commands can reach (default none)")
	choiceFlag(cmd, &f.strategy, "strategy", config.Strategies, config.LaterStrategies, "how the resource is isolated (default auto)")
	choiceFlag(cmd, &f.lower, "lower", []string{"frozen", "live"}, nil, "what an overlay stands on: a clean checkout of the commit, or the tree as it is")
	choiceFlag(cmd, &f.dirty, "dirty", config.Dirties, nil, "what becomes of uncommitted work over a frozen lower (default carry)")
	choiceFlag(cmd, &f.home, "home", config.Homes, nil, "what commands find in $HOME (default tools)")
	fl.StringArrayVar(&f.include, "include", nil, "ignored paths to bring along, a `GLOB`; repeatable")
	fl.StringArrayVar(&f.resources, "resource", nil, "a `PATH` to work on, instead of what holds the current directory; repeatable")
	fl.StringArrayVar(&f.env, "env", nil, "pass a variable of yours, or set one: `NAME[=VALUE]`; repeatable")
	fl.StringArrayVar(&f.readWrite, "rw", nil, "a `PATH` outside the resource that commands may write for real; repeatable")
	fl.StringVar(&f.timeout, "timeout", "", "end a command that takes longer than this `DURATION`, such as 90s or 10m")
	fl.BoolVar(&f.asRoot, "as-root", false, "as root over another owner's files: stay root inside")
}

// options lays the flags over the configuration. limit is the time limit where
// nobody set one; 0 = none.
func (f *planFlags) options(d *deps, cmd *cobra.Command, limit time.Duration) (engine.PlanOptions, error) {
	var none engine.PlanOptions
	dir, _, err := d.place()
	if err != nil {
		return none, err
	}
	roots := []string{dir}
	if len(f.resources) > 0 {
		roots = nil
		for _, r := range f.resources {
			roots = append(roots, absolute(dir, r))
		}
	}
	cfg, err := d.config(roots...)
	if err != nil {
		return none, err
	}
	o := engine.PlanOptions{
		Strategy: pick(f.strategy, cfg.Strategy), Lower: f.lower, Dirty: pick(f.dirty, cfg.Dirty),
		Confine: pick(f.confine, cfg.Confine), Home: pick(f.home, cfg.Home), Network: pick(f.network, cfg.Network),
		Include: append(cfg.Include[:len(cfg.Include):len(cfg.Include)], f.include...),
		Env:     append(cfg.Env[:len(cfg.Env):len(cfg.Env)], f.env...),
		Timeout: limit, AsRoot: f.asRoot,
	}
	if err := f.checkDirty(cmd, o.Strategy); err != nil {
		return none, err
	}
	for _, kv := range f.env {
		name, _, _ := strings.Cut(kv, "=")
		if name == "" || strings.ContainsRune(kv, 0) {
			return none, usagef(cmd, "--env %q has no name before the =", visible(kv)).withHint("write --env NAME or --env NAME=VALUE")
		}
		if !variable(name) {
			return none, usagef(cmd, "--env %q: %q is no name of a variable", visible(kv), visible(name)).
				withHint("a name has letters, digits and _ only, and does not begin with a digit")
		}
		if _, set := d.getenv(name); !set && name == kv {
			return none, fault.New(fault.NotFound, "pass the environment", "--env %s: there is no such variable in your environment", visible(name)).
				WithHint("export it first, or write --env %s=VALUE", visible(name))
		}
	}
	for _, p := range f.readWrite {
		o.ReadWrite = append(o.ReadWrite, absolute(dir, p))
	}
	if f.timeout != "" {
		if o.Timeout, err = config.ParseTimeout(f.timeout); err != nil {
			return none, usagef(cmd, "--timeout: %v", err)
		}
	}
	return o, nil
}

// variable reports whether a shell could name the variable (POSIX, "Name").
func variable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// checkDirty refuses a --dirty that would silently do nothing: over the tree as
// it stands, uncommitted work is simply there. A checkout of its own
// (git_worktree) never stands on the live tree.
func (f *planFlags) checkDirty(cmd *cobra.Command, strategy engine.StrategyName) error {
	lower := pick(f.lower, f.lowerUnasked)
	if lower != engine.LowerLive || strategy == engine.StrategyGitWorktree || f.dirty == "" || f.dirty == engine.DirtyCarry {
		return nil
	}
	return usagef(cmd, "--dirty %s needs a frozen lower: here commands see the tree as it stands, uncommitted work included", f.dirty).
		withHint("add --lower frozen, or leave out --dirty")
}

// paths are the --resource paths, absolute.
func (f *planFlags) paths(dir string) []string {
	var out []string
	for _, r := range f.resources {
		out = append(out, absolute(dir, r))
	}
	return out
}

func pick[T ~string](flag, config T) T {
	if flag != "" {
		return flag
	}
	return config
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
