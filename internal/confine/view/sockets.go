package view

import (
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
)

// Sockets returns the unix sockets that must be masked now: those that somebody
// listens on since the layout was computed are among them.
func Sockets(spec engine.CageSpec, host Host) ([]string, error) {
	v := &viewer{spec: spec, host: host}
	v.home, v.state = v.real(spec.HomeDir), v.real(spec.StateDir)
	for _, step := range []func() error{v.system, v.people} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	v.absent = append(v.absent, v.home)
	return v.sockets(), nil
}

// sockets lists the unix sockets that lie in folders that show: a read-only mount
// does not keep anybody from connecting, and what listens there acts with its own
// rights (V38).
func (v *viewer) sockets() []string {
	var found []string
	paths, _ := BoundSockets(v.host)
	for _, p := range paths {
		if real := v.real(p); v.shown(real) && !slices.ContainsFunc(v.targets(), func(t string) bool { return within(real, t) }) {
			found = append(found, real)
		}
	}
	return found
}

// maxSocketTable bounds what is read of the host's table of sockets, in bytes: a
// hundred thousand of them.
const maxSocketTable = 8 << 20

// BoundSockets returns the names of the host's unix sockets: the paths at which
// they are bound, and abstract names without their mark. Each is there once, and in
// order. Sockets that were bound relative to a descriptor have no usable path and
// are left out; what lies beyond maxSocketTable is, too.
func BoundSockets(host Host) (paths, abstract []string) {
	b, err := host.ReadHead("/proc/net/unix", maxSocketTable)
	if err != nil {
		return nil, nil
	}
	if len(b) == maxSocketTable { // the last line may be cut off
		b = b[:strings.LastIndexByte(string(b), '\n')+1]
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		// Num RefCount Protocol Flags Type St Inode Path
		f := strings.SplitN(line, " ", 8)
		if len(f) < 8 {
			continue
		}
		switch name := strings.TrimLeft(f[7], " 0123456789"); { // the inode may be padded
		case strings.HasPrefix(name, "/proc/"):
		case isCleanAbs(name):
			paths = append(paths, name)
		case strings.HasPrefix(name, "@") && !strings.Contains(name[1:], "@"):
			abstract = append(abstract, name[1:])
		}
	}
	slices.Sort(paths)
	slices.Sort(abstract)
	return slices.Compact(paths), slices.Compact(abstract)
}
