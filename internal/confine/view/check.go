package view

import (
	"slices"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// check refuses specs that cannot be meant.
func (v *viewer) check() error {
	bad := func(format string, args ...any) error { return fault.New(fault.Invalid, "confine", format, args...) }
	for _, c := range []struct{ what, p string }{
		{"plan folder", v.spec.PlanDir}, {"state folder", v.spec.StateDir}, {"home", v.spec.HomeDir},
	} {
		if !isCleanAbs(c.p) {
			return bad("the %s %q is no clean absolute path", c.what, c.p)
		}
	}
	switch v.spec.Home {
	case engine.HomeTools, engine.HomeHidden, engine.HomeRO:
	default:
		return bad("unknown home mode %q", v.spec.Home)
	}
	switch v.spec.Network {
	case engine.NetworkNone, engine.NetworkHost:
	default:
		return bad("unknown network mode %q", v.spec.Network)
	}
	v.home, v.state = v.real(v.spec.HomeDir), v.real(v.spec.StateDir)
	if err := v.checkSandboxes(); err != nil {
		return err
	}
	return v.checkPaths()
}

func (v *viewer) checkSandboxes() error {
	for _, en := range v.spec.Sandbox {
		for _, m := range en.Mounts {
			for _, t := range append([]string{m.Target}, m.Aliases...) {
				if !isCleanAbs(t) || t == "/" || within(t, "/proc") || within(t, "/sys") || within(t, "/dev") {
					return fault.New(fault.Invalid, "confine", "a sandbox cannot appear at %q", t)
				}
			}
			switch {
			case m.Kind == engine.MountOverlay:
				if err := v.checkOverlay(m); err != nil {
					return err
				}
			case m.Kind != engine.MountBind:
				return fault.New(fault.Invalid, "confine", "unknown kind of mount %q", m.Kind)
			}
		}
	}
	return nil
}

// checkOverlay refuses a lower with other mounts below it (C53): an overlay does
// not cross them, and in a user namespace the kernel refuses the whole.
func (v *viewer) checkOverlay(m engine.Mount) error {
	for _, l := range m.Lower {
		real := v.real(l)
		var nested []string
		for _, e := range v.mountTable() {
			if e.point != real && within(e.point, real) {
				nested = append(nested, e.point)
			}
		}
		if len(nested) > 0 {
			slices.Sort(nested)
			return fault.New(fault.Unsupported, "confine", "%s holds other mounts, which an overlay cannot cover", l).
				WithPaths(slices.Compact(nested)...).
				WithHint("unmount them, or use `--strategy copy_on_write`")
		}
	}
	return nil
}

// checkPaths refuses paths that contradict the sandboxes.
func (v *viewer) checkPaths() error {
	for _, p := range v.spec.ReadWrite {
		if !isCleanAbs(p) || p == "/" {
			return fault.New(fault.Invalid, "confine", "%q is no clean absolute path below /", p)
		}
		if !v.exists(p) {
			return fault.New(fault.NotFound, "confine", "%s does not exist", p)
		}
		if within(v.real(p), v.state) {
			return fault.New(fault.Denied, "confine", "%s lies in ambit's own state", p)
		}
		for _, t := range v.targets() {
			if within(v.real(p), v.real(t)) {
				return fault.New(fault.Denied, "confine", "%s is part of the sandboxed %s and would be written for real", p, t).
					WithHint("leave it out: inside, the sandbox can be written")
			}
		}
	}
	return nil
}
