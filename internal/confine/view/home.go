package view

import (
	"path"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
)

// homes makes what commands find at $HOME.
func (v *viewer) homes() error {
	v.absent = append(v.absent, v.home)
	inSandbox := slices.ContainsFunc(v.targets(), func(t string) bool { return within(v.home, t) })
	switch {
	case inSandbox:
		v.notice("the home %s is part of a sandbox: it shows as the sandbox has it, with known secrets masked", v.home)
	case v.spec.Home == engine.HomeRO:
		if v.isDir(v.home) {
			v.add(Op{Kind: KindBind, Source: v.home, Target: v.home, ReadOnly: true})
		} else {
			v.add(Op{Kind: KindDir, Target: v.home, Mode: 0o700})
		}
	default:
		private := path.Join(v.spec.PlanDir, "home")
		v.own = true
		v.out.MakeDirs = append(v.out.MakeDirs, private)
		v.add(Op{Kind: KindBind, Source: private, Target: v.home})
		v.writable(v.home)
	}
	if v.spec.HomeDir != v.home {
		v.add(Op{Kind: KindAlias, Source: v.home, Target: v.spec.HomeDir, Optional: true})
	}
	if v.spec.Home == engine.HomeTools && !inSandbox {
		v.toolchains()
	}
	v.commands()
	v.addExposed()
	if v.spec.Home != engine.HomeHidden && !inSandbox {
		v.caches()
	}
	if !inSandbox {
		v.git()
	}
	return nil
}

// broad reports whether showing a folder would show more than a tool: a home, a
// folder above one, ambit's state or what holds it, a closed folder as a whole.
func (v *viewer) broad(p string) bool {
	state := v.state
	return p == "/" || within(v.home, p) || within(state, p) || within(p, state) || slices.Contains(closed, p)
}

// expose shows a folder or file that does not show by itself, read-only, at its
// own spelling and where its links lead.
func (v *viewer) expose(p string) {
	real, err := v.resolve(p)
	if err != nil || v.broad(real) {
		return
	}
	for _, t := range []string{real, p} {
		if v.broad(t) || v.exposed[t] {
			continue
		}
		// In home mode "ro" everything below home shows already.
		if !v.shown(t) && (v.own || !within(t, v.home)) {
			v.exposed[t] = true
		}
	}
}

// addExposed adds the ops for what expose collected, outer folders first; what
// lies below one that shows needs no mount of its own.
func (v *viewer) addExposed() {
	var ts []string
	for t := range v.exposed {
		ts = append(ts, t)
	}
	done := outermost(ts)
	for _, t := range done {
		v.out.Shown = append(v.out.Shown, t)
		v.add(Op{Kind: KindBind, Source: v.real(t), Target: t, ReadOnly: true, Optional: true, Private: v.private(t)})
	}
	for _, d := range done {
		for _, s := range secrets {
			if p := path.Join(v.home, s); within(p, d) && p != d && v.exists(p) {
				v.add(Op{Kind: KindMask, Target: p})
			}
		}
	}
}

// masks hides what must not show although something above it does. It comes
// last, so that nothing uncovers it.
func (v *viewer) masks() error {
	hide := func(p string, aliases bool) {
		ps := []string{p}
		if r := v.real(p); r != p {
			ps = append(ps, r)
		}
		if aliases {
			ps = append(ps, v.aliases(p)...)
		}
		for _, p := range ps {
			// A mask over a sandbox or what leads to one would hide where commands work.
			if !slices.ContainsFunc(v.targets(), func(t string) bool { return within(t, p) }) {
				v.add(Op{Kind: KindMask, Target: p})
			}
		}
	}
	hide(v.spec.StateDir, true)
	if !v.own {
		for _, s := range secrets {
			if p := path.Join(v.home, s); v.exists(p) {
				hide(p, false)
			}
		}
	}
	// The home itself is covered at its own path; at another mount's it is not.
	for _, a := range v.aliases(v.home) {
		if !slices.ContainsFunc(v.targets(), func(t string) bool { return within(t, a) || within(a, t) }) {
			v.add(Op{Kind: KindMask, Target: a})
		}
	}
	if v.host.UID() == 0 {
		for _, p := range v.rootSecrets() {
			v.add(Op{Kind: KindMask, Target: p})
		}
	}
	for _, p := range v.sockets() {
		v.add(Op{Kind: KindMask, Target: p, Optional: true})
	}
	return nil
}

// rootSecrets lists what uid 0 can read by owning it, in folders that show.
func (v *viewer) rootSecrets() []string {
	var ps []string
	for _, p := range rootOwned {
		dir, name := path.Split(p)
		if !strings.ContainsRune(name, '*') {
			if v.exists(p) {
				ps = append(ps, p)
			}
			continue
		}
		es, err := v.host.ReadDir(path.Clean(dir))
		if err != nil {
			continue
		}
		for _, e := range es {
			if ok, _ := path.Match(name, e.Name()); ok && v.exists(path.Join(dir, e.Name())) {
				ps = append(ps, path.Join(dir, e.Name()))
			}
		}
	}
	return ps
}
