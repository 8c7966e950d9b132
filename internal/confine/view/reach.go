package view

import (
	"path"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Reach is what a confinement without a root of its own lets commands touch on
// the host, as an allow-list: where nothing can be hidden, only what is named
// can be reached.
type Reach struct {
	Home string `json:"home"` // what $HOME is inside
	Temp string `json:"temp"` // what $TMPDIR is
	// Read may be read and executed, List only listed, Write changed. Links are resolved.
	Read  []string `json:"read"`
	List  []string `json:"list,omitempty"`
	Write []string `json:"write"`
	// Files are links and files to make in the private home, at paths relative to it.
	Files []Op `json:"files,omitempty"`
	// MakeDirs must exist before, mode 0700.
	MakeDirs []string `json:"make_dirs,omitempty"`
	// Set and Unset change the environment of every command.
	Set     []string `json:"set,omitempty"`
	Unset   []string `json:"unset,omitempty"`
	Notices []string `json:"notices,omitempty"`
	// Shown are the places below the home that show on purpose, for the proof.
	Shown []string `json:"-"`
}

// usableDevices are the device files that commands may use.
var usableDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// cacheVariables point tools at the person's caches, which are not to be written.
var cacheVariables = []string{
	"GOPATH", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "UV_CACHE_DIR", "PIP_CACHE_DIR", "npm_config_cache",
	"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMP", "TEMP",
}

// ComputeReach says what commands may touch where sandboxes lie at their own
// paths (engine.Entrance.Path) and nothing is mounted.
func ComputeReach(spec engine.CageSpec, host Host) (Reach, error) {
	v := &viewer{
		spec: spec, host: host, exposed: map[string]bool{}, own: true,
		out: Layout{HostNet: spec.Network == engine.NetworkHost},
	}
	// Mounts are not made here, and a copy may well hold other mounts.
	v.spec.Sandbox = slices.Clone(spec.Sandbox)
	for i := range v.spec.Sandbox {
		v.spec.Sandbox[i].Mounts = nil
	}
	for _, step := range []func() error{v.check, v.system, v.people} {
		if err := step(); err != nil {
			return Reach{}, err
		}
	}
	r := Reach{Home: path.Join(spec.PlanDir, "home"), Temp: path.Join(spec.PlanDir, "tmp"), Unset: cacheVariables}
	r.MakeDirs = []string{r.Home, r.Temp}
	r.Write = append(slices.Clone(usableDevices), r.Temp)
	v.absent = append(v.absent, v.home)
	v.out.Ops = nil // mounts of the system, which are not made here
	if spec.Home == engine.HomeTools {
		v.toolchains()
	}
	v.commands()
	holes := v.holes()
	if spec.Home == engine.HomeRO {
		r.Home, v.own = spec.HomeDir, false
		homeHoles := slices.Clone(holes)
		for _, s := range append(slices.Clone(secrets), ".gitconfig", ".config/git/config") {
			homeHoles = append(homeHoles, path.Join(v.home, s))
		}
		v.carve(&r, v.home, homeHoles)
	} else {
		r.Write = append(r.Write, r.Home)
		v.git()
		v.homeFiles(&r)
	}
	for _, t := range v.top {
		v.carve(&r, t, append(slices.Clone(holes), v.absent...))
	}
	for t := range v.exposed {
		v.carve(&r, v.real(t), append(slices.Clone(holes), v.secretPaths()...))
	}
	for t := range v.exposed {
		r.Shown = append(r.Shown, t)
	}
	r.Read = append(r.Read, "/proc")
	if to, err := host.Resolve("/etc/resolv.conf"); err == nil && v.out.HostNet && !v.shown(to) {
		r.Read = append(r.Read, to)
	}
	if err := v.reachSandboxes(&r, spec.Sandbox); err != nil {
		return Reach{}, err
	}
	v.environment(&r)
	for _, list := range []*[]string{&r.Read, &r.List, &r.Write} {
		*list = outermost(*list)
	}
	r.Notices = v.out.Notices
	return r, nil
}

// holes are the places that no allowed folder may let in.
func (v *viewer) holes() []string {
	hs := []string{v.state}
	hs = append(hs, v.aliases(v.spec.StateDir)...)
	hs = append(hs, v.aliases(v.home)...)
	if v.host.UID() == 0 {
		hs = append(hs, v.rootSecrets()...)
	}
	return hs
}

func (v *viewer) secretPaths() []string {
	ps := make([]string, len(secrets))
	for i, s := range secrets {
		ps[i] = path.Join(v.home, s)
	}
	return ps
}

// carve allows reading dir except the holes: rules can only add, so a folder with
// a hole is allowed entry by entry.
func (v *viewer) carve(r *Reach, dir string, holes []string) {
	if slices.ContainsFunc(holes, func(h string) bool { return within(dir, h) }) {
		return
	}
	if !slices.ContainsFunc(holes, func(h string) bool { return within(h, dir) }) {
		r.Read = append(r.Read, dir)
		return
	}
	es, err := v.host.ReadDir(dir)
	if err != nil {
		return
	}
	r.List = append(r.List, dir)
	for _, e := range es {
		// A link gives nothing; what it leads to is allowed in its own right or not.
		if e.IsDir() || e.Type().IsRegular() {
			v.carve(r, path.Join(dir, e.Name()), holes)
		}
	}
}

// homeFiles fills the private home: a link for each tool chain, so that tools
// find them there, and the git configuration.
func (v *viewer) homeFiles(r *Reach) {
	var ts []string
	for t := range v.exposed {
		if t != v.home && within(t, v.home) {
			ts = append(ts, t)
		}
	}
	for _, t := range outermost(ts) {
		r.Files = append(r.Files, Op{Kind: KindLink, Target: strings.TrimPrefix(t, v.home+"/"), Text: t})
	}
	for _, op := range v.out.Ops {
		if op.Kind == KindFile && within(op.Target, v.home) {
			op.Target = strings.TrimPrefix(op.Target, v.home+"/")
			r.Files = append(r.Files, op)
		}
	}
	v.out.Ops = nil
}

// reachSandboxes allows the sandboxes and further paths.
func (v *viewer) reachSandboxes(r *Reach, mounts []engine.Entrance) error {
	for i, en := range v.spec.Sandbox {
		if en.Path == "" {
			return fault.New(fault.Unsupported, "confine", "the sandbox of %s exists only as a mount, which this confinement cannot make", en.Root).
				WithHint("`--strategy copy_on_write` or `git_worktree`, or `--confine native`")
		}
		if en.ReadOnly {
			r.Read = append(r.Read, v.real(en.Path))
		} else {
			r.Write = append(r.Write, v.real(en.Path))
		}
		for _, m := range mounts[i].Mounts {
			if m.Kind == engine.MountBind && m.ReadOnly {
				r.Read = append(r.Read, v.real(m.Source))
			}
		}
	}
	for _, p := range v.spec.ReadWrite {
		r.Write = append(r.Write, v.real(p))
	}
	return nil
}

// environment points tools at the private folders. The person's caches cannot
// show copy-on-write here, so they are cold; the module cache of go can at least
// be read as a proxy.
func (v *viewer) environment(r *Reach) {
	r.Set = append(r.Set, "HOME="+r.Home, "TMPDIR="+r.Temp)
	mod := path.Join(v.home, "go/pkg/mod")
	if p := v.host.Getenv("GOMODCACHE"); isCleanAbs(p) {
		mod = p
	} else if p := v.host.Getenv("GOPATH"); isCleanAbs(p) {
		mod = path.Join(p, "pkg/mod")
	}
	if dl := v.real(path.Join(mod, "cache/download")); v.isDir(dl) && !v.out.HostNet {
		r.Read = append(r.Read, dl)
		r.Set = append(r.Set, "GOPROXY=file://"+dl)
	}
}
