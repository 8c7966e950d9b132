package boundary

import "strings"

// Volume is an overlay that docker's driver local mounts for a container: the working
// tree of a sandbox whose layers lie on the machine. One upper must never be mounted
// twice; whoever makes the volume keeps everybody else from it.
type Volume struct {
	Name  string
	Lower []string // absolute paths, the uppermost first
	Upper string
	Work  string // on the file system of Upper
}

// CreateArgv renders the command that makes the volume. userxattr keeps the layers
// in the form that an ordinary user can mount, too. An existing volume of the name
// silently keeps its old options: inspect it and compare with Options.
func (v Volume) CreateArgv(s Spec) ([]string, error) {
	var f findings
	v.check(&f)
	if err := f.err(); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return []string{
		"docker", "volume", "create", "--driver", "local", "--label", LabelTask + "=" + s.TaskID, "--label", LabelSpec + "=" + s.SpecHash,
		"--opt", "type=overlay", "--opt", "device=overlay", "--opt", "o=" + v.Options(), v.Name,
	}, nil
}

// Options returns the mount options of the overlay.
func (v Volume) Options() string {
	lower := make([]string, len(v.Lower))
	for i, p := range v.Lower {
		lower[i] = escapeLayer(p)
	}
	return "userxattr,lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + v.Upper + ",workdir=" + v.Work
}

// escapeLayer keeps a path of the list of lowers in one piece.
func escapeLayer(p string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(p)
}

func (v Volume) check(f *findings) {
	checkName(f, v.Name)
	if len(v.Lower) == 0 {
		f.add("an overlay stands on one layer or more", "the volume %s has no lower layer", v.Name)
	}
	for _, p := range v.Lower {
		checkPath(f, p)
	}
	for _, p := range []string{v.Upper, v.Work} {
		// The kernel undoes a backslash in every option, and only the lowers need one.
		if checkPath(f, p) && strings.Contains(p, `\`) {
			f.add("use a folder without it", "sandbox path cannot be mounted: %q holds a backslash", p)
		}
	}
}
