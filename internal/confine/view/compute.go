package view

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Workspace is the path at which the first sandbox appears besides its own.
const Workspace = "/workspace"

// closed are the host's folders that never show: kernel interfaces, sockets,
// other people's things and other file systems. They are private or empty inside.
var closed = []string{"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/home", "/root", "/mnt", "/media", "/lost+found"}

// Compute says what of the host shows inside for a spec. scratch is an empty
// folder of the plan on which the inside is built.
func Compute(spec engine.CageSpec, scratch string, host Host) (Layout, error) {
	v := &viewer{spec: spec, host: host, out: Layout{Scratch: scratch, HostNet: spec.Network == engine.NetworkHost}}
	for _, step := range []func() error{v.check, v.system, v.homes, v.mounts, v.masks} {
		if err := step(); err != nil {
			return Layout{}, err
		}
	}
	return v.out, nil
}

// viewer computes one layout.
type viewer struct {
	spec engine.CageSpec
	host Host
	home string // HomeDir with links followed
	out  Layout
}

func (v *viewer) add(ops ...Op) { v.out.Ops = append(v.out.Ops, ops...) }

func (v *viewer) writable(paths ...string) { v.out.Writable = append(v.out.Writable, paths...) }

func (v *viewer) notice(format string, args ...any) {
	v.out.Notices = append(v.out.Notices, fmt.Sprintf(format, args...))
}

// check refuses specs that cannot mean anything.
func (v *viewer) check() error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Invalid, "confine", format, args...)
	}
	for what, p := range map[string]string{"plan folder": v.spec.PlanDir, "state folder": v.spec.StateDir, "home": v.spec.HomeDir} {
		if !isCleanAbs(p) {
			return bad("the %s %q is no absolute path", what, p)
		}
	}
	for _, list := range [][]string{v.spec.ReadOnly, v.spec.ReadWrite, v.spec.Hide} {
		for _, p := range list {
			if !isCleanAbs(p) || p == "/" {
				return bad("%q is no absolute path below /", p)
			}
		}
	}
	switch v.spec.Home {
	case engine.HomeTools, engine.HomeHidden, engine.HomeRO:
	default:
		return bad("unknown home mode %q", v.spec.Home)
	}
	v.home = v.spec.HomeDir
	if real, err := v.host.Resolve(v.home); err == nil {
		v.home = real
	}
	return nil
}

func isCleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// within reports whether p is dir or lies below it, by components.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// system makes the host's top-level entries show read-only, except the closed ones.
func (v *viewer) system() error {
	es, err := v.host.ReadDir("/")
	if err != nil {
		return fault.Wrap(fault.Unavailable, "confine", err)
	}
	for _, e := range es {
		p := "/" + e.Name()
		switch {
		case slices.Contains(closed, p):
			if e.Type()&fs.ModeSymlink == 0 {
				continue
			}
			fallthrough
		case e.Type()&fs.ModeSymlink != 0:
			to, err := v.host.Readlink(p)
			if err != nil {
				return fault.Wrap(fault.Unavailable, "confine", err)
			}
			v.add(Op{Kind: KindLink, Target: p, Text: to})
		case e.IsDir():
			v.add(Op{Kind: KindBind, Source: p, Target: p, ReadOnly: true})
		case e.Type().IsRegular():
			if fi, err := v.host.Stat(p); err == nil && fi.Mode().Perm()&0o004 != 0 {
				v.add(Op{Kind: KindBind, Source: p, Target: p, ReadOnly: true, Optional: true})
			}
		}
	}
	run := fmt.Sprintf("/run/user/%d", v.host.UID())
	v.add(
		Op{Kind: KindTmpfs, Target: "/tmp", Mode: 0o1777},
		Op{Kind: KindTmpfs, Target: "/var/tmp", Mode: 0o1777},
		Op{Kind: KindTmpfs, Target: run, Mode: 0o700},
		Op{Kind: KindTmpfs, Target: "/run/lock", Mode: 0o1777},
		Op{Kind: KindDir, Target: "/sys", Mode: 0o555},
		Op{Kind: KindDir, Target: "/home", Mode: 0o755},
	)
	v.writable("/tmp", "/var/tmp", run, "/run/lock")
	return nil
}

// homes makes the person's home.
func (v *viewer) homes() error {
	v.add(Op{Kind: KindBind, Source: path.Join(v.spec.PlanDir, "home"), Target: v.home})
	v.writable(v.home)
	return nil
}

// placed is a mount that the spec asks for, to be put in order.
type placed struct {
	ops     []Op
	at      string
	aliases []string
}

// mounts adds what the spec names: sandboxes, further paths. What lies deeper
// comes later, so that nothing covers it.
func (v *viewer) mounts() error {
	var ps []placed
	for _, p := range v.spec.ReadOnly {
		ps = append(ps, placed{at: p, ops: []Op{{Kind: KindBind, Source: p, Target: p, ReadOnly: true}}})
	}
	var aliases []Op
	for i, en := range v.spec.Sandbox {
		for _, m := range en.Mounts {
			op, err := v.sandboxMount(m)
			if err != nil {
				return err
			}
			ps = append(ps, placed{at: m.Target, ops: []Op{op}})
			if !m.ReadOnly {
				v.writable(m.Target)
			}
			for _, a := range m.Aliases {
				aliases = append(aliases, Op{Kind: KindBind, Source: "", Target: a, Text: m.Target})
			}
		}
		if i == 0 && en.Root != "" {
			aliases = append(aliases, Op{Kind: KindBind, Target: Workspace, Text: en.Root})
		}
	}
	for _, p := range v.spec.ReadWrite {
		ps = append(ps, placed{at: p, ops: []Op{{Kind: KindBind, Source: p, Target: p}}})
		v.writable(p)
	}
	slices.SortStableFunc(ps, func(a, b placed) int {
		return cmp.Compare(strings.Count(a.at, "/"), strings.Count(b.at, "/"))
	})
	for _, p := range ps {
		v.add(p.ops...)
	}
	for _, a := range aliases {
		v.add(Op{Kind: KindAlias, Target: a.Target, Source: a.Text})
	}
	return nil
}

// sandboxMount turns a strategy's mount into an op.
func (v *viewer) sandboxMount(m engine.Mount) (Op, error) {
	if !isCleanAbs(m.Target) || m.Target == "/" {
		return Op{}, fault.New(fault.Invalid, "confine", "a sandbox cannot be mounted at %q", m.Target)
	}
	op := Op{Target: m.Target, ReadOnly: m.ReadOnly, Private: within(m.Target, v.home) && m.Target != v.home}
	switch m.Kind {
	case engine.MountOverlay:
		op.Kind, op.Lower, op.Upper, op.Work = KindOverlay, m.Lower, m.Upper, m.Work
	case engine.MountBind:
		op.Kind, op.Source = KindBind, m.Source
	default:
		return Op{}, fault.New(fault.Invalid, "confine", "unknown kind of mount %q", m.Kind)
	}
	return op, nil
}

// masks hides what must not show although something above it does.
func (v *viewer) masks() error {
	v.add(Op{Kind: KindMask, Target: v.spec.StateDir})
	v.out.Hidden = append(v.out.Hidden, v.spec.StateDir)
	for _, p := range v.spec.Hide {
		v.add(Op{Kind: KindMask, Target: p})
	}
	return nil
}
