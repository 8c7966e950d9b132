package view

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
)

// Workspace is the path at which the first sandbox appears besides its own.
const Workspace = "/workspace"

// Compute says what of the host shows inside for a spec. scratch is an empty
// folder of the plan on which the inside is built. A spec that cannot be meant is
// invalid; one that would undo its own protection is denied or a conflict.
func Compute(spec engine.CageSpec, scratch string, host Host) (Layout, error) {
	v := &viewer{
		spec: spec, host: host, exposed: map[string]bool{},
		out: Layout{Scratch: scratch, HostNet: spec.Network == engine.NetworkHost},
	}
	for _, step := range []func() error{v.check, v.system, v.people, v.homes, v.paths, v.masks} {
		if err := step(); err != nil {
			return Layout{}, err
		}
	}
	return v.out, nil
}

// viewer computes one layout.
type viewer struct {
	spec    engine.CageSpec
	host    Host
	home    string // HomeDir with links followed
	state   string // StateDir with links followed
	known   map[string]resolved
	own     bool     // the home inside is the private one, which commands write
	absent  []string // host folders that do not show: closed ones, homes
	top     []string // host folders of / that show
	links   []string // links of / that show: what lies behind one shows if its target does
	mountsI []mountEntry
	exposed map[string]bool // targets of expose
	out     Layout
}

func (v *viewer) add(ops ...Op) { v.out.Ops = append(v.out.Ops, ops...) }

func (v *viewer) writable(paths ...string) { v.out.Writable = append(v.out.Writable, paths...) }

func (v *viewer) notice(format string, args ...any) {
	v.out.Notices = append(v.out.Notices, fmt.Sprintf(format, args...))
}

// isCleanAbs reports whether p is one path and its own only spelling.
func isCleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// within reports whether p is dir or lies below it, by components (V1).
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// outermost sorts paths and leaves out what lies below another of them.
func outermost(paths []string) []string {
	var out []string
	// By component, so that everything below a folder follows it at once.
	slices.SortFunc(paths, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	for _, p := range paths {
		if len(out) == 0 || !within(p, out[len(out)-1]) {
			out = append(out, p)
		}
	}
	return out
}

// exists reports whether there is something at p, links followed.
func (v *viewer) exists(p string) bool {
	_, err := v.host.Stat(p)
	return err == nil
}

// isDir reports whether p leads to a folder.
func (v *viewer) isDir(p string) bool {
	fi, err := v.host.Stat(p)
	return err == nil && fi.IsDir()
}

// shown reports whether a host path, links followed, is visible at its own place
// because a folder above it is.
func (v *viewer) shown(p string) bool {
	in := func(dir string) bool { return within(p, dir) }
	if slices.ContainsFunc(v.links, in) {
		p = v.real(p)
	}
	return slices.ContainsFunc(v.top, in) && !slices.ContainsFunc(v.absent, in)
}

// private reports whether the way to p leads through the private home.
func (v *viewer) private(p string) bool { return v.own && p != v.home && within(p, v.home) }

// targets lists where sandboxes are mounted.
func (v *viewer) targets() []string {
	var ts []string
	for _, en := range v.spec.Sandbox {
		for _, m := range en.Mounts {
			ts = append(ts, m.Target)
		}
	}
	return ts
}

// resolved is what Host.Resolve answered.
type resolved struct {
	path string
	err  error
}

// resolve is Host.Resolve, asked once for each path.
func (v *viewer) resolve(p string) (string, error) {
	r, ok := v.known[p]
	if !ok {
		r.path, r.err = v.host.Resolve(p)
		if v.known == nil {
			v.known = map[string]resolved{}
		}
		v.known[p] = r
	}
	return r.path, r.err
}

// real follows links as far as the path exists.
func (v *viewer) real(p string) string {
	if r, err := v.resolve(p); err == nil {
		return r
	}
	if p == "/" {
		return p
	}
	return path.Join(v.real(path.Dir(p)), path.Base(p))
}

// placed is a mount that the spec asks for, to be put in order.
type placed struct {
	at  string
	ops []Op
}

// paths adds what the spec names: further paths and sandboxes. What lies deeper
// comes later, so that nothing covers it.
func (v *viewer) paths() error {
	var ps []placed
	for _, p := range v.spec.ReadWrite {
		ps = append(ps, placed{p, v.show(p)})
		v.writable(v.real(p))
	}
	var aliases []Op
	for i, en := range v.spec.Sandbox {
		for _, m := range en.Mounts {
			readOnly := m.ReadOnly || en.ReadOnly
			op := Op{Target: m.Target, ReadOnly: readOnly, Private: v.private(m.Target)}
			if m.Kind == engine.MountOverlay {
				op.Kind, op.Lower, op.Upper, op.Work = KindOverlay, m.Lower, m.Upper, m.Work
			} else {
				op.Kind, op.Source = KindBind, m.Source
			}
			ps = append(ps, placed{m.Target, []Op{op}})
			if !readOnly {
				v.writable(m.Target)
			}
			for _, a := range m.Aliases {
				aliases = append(aliases, Op{Kind: KindAlias, Source: m.Target, Target: a, Private: v.private(a)})
			}
		}
		if i == 0 && en.Root != "" && en.Root != Workspace {
			aliases = append(aliases, Op{Kind: KindAlias, Source: en.Root, Target: Workspace})
		}
	}
	slices.SortStableFunc(ps, func(a, b placed) int {
		return cmp.Compare(strings.Count(a.at, "/"), strings.Count(b.at, "/"))
	})
	for _, p := range ps {
		v.add(p.ops...)
	}
	v.add(aliases...)
	return nil
}

// show makes a host path visible where it is, and where its links lead.
func (v *viewer) show(p string) []Op {
	real := v.real(p)
	ops := []Op{{Kind: KindBind, Source: real, Target: real, Private: v.private(real)}}
	if p != real {
		ops = append(ops, Op{Kind: KindAlias, Source: real, Target: p, Private: v.private(p)})
	}
	return ops
}
