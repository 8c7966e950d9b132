package boundary

import (
	"path"
	"slices"
	"strings"
)

// maxPath is PATH_MAX of Linux without the NUL that ends a path.
const maxPath = 4095

// checkMounts holds the mounts to what a boundary is: the working tree at
// /workspace, nothing else writable, and nothing reached by two names of which one
// may be written and the other not.
func (s Spec) checkMounts(f *findings) {
	good := checkPath(f, s.Workdir)
	workspace := false
	for i, m := range s.Mounts {
		same := m.Source == s.Workdir
		fine := same && good || !same && checkPath(f, m.Source)
		if !checkPath(f, m.Target) || !fine {
			continue
		}
		f.text("a mount's purpose", m.Purpose, maxArg)
		switch {
		case m.Source == "/":
			f.add("name the one folder that is meant", "the root of the machine cannot be mounted")
		case m.Target == "/":
			f.add("name a folder below it", "nothing can be mounted over the root of the container")
		case m.Mode != ReadWrite && m.Mode != ReadOnly:
			f.add("use rw or ro", "the mode of the mount at %s is not known: %q", m.Target, m.Mode)
		case m.Mode == ReadWrite && !same:
			f.add("mount it ro; the working tree is the only writable path", "%s is mounted writable and is not the working tree", m.Source)
		}
		workspace = workspace || same && m.Target == WorkspaceTarget && m.Mode == ReadWrite
		for _, before := range s.Mounts[:i] {
			if before.Target == m.Target {
				f.add("give each mount a place of its own", "two mounts have the target %s", m.Target)
			}
			checkOverlap(f, before, m)
		}
	}
	if good && !workspace {
		f.add("a spec mounts its workdir there, rw", "the working tree is not mounted at %s", WorkspaceTarget)
	}
}

// checkOverlap refuses two mounts of one place, or of a place and one inside it, of
// which only one may be written.
func checkOverlap(f *findings, a, b Mount) {
	if a.Mode == b.Mode || !within(a.Source, b.Source) && !within(b.Source, a.Source) {
		return
	}
	if a.Mode == ReadOnly {
		a, b = b, a
	}
	f.add("mount folders of which none lies in the other", "%s is writable and %s read-only, and one lies in the other", a.Source, b.Source)
}

// within reports whether p is dir or lies below it.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// checkPath refuses a path that is relative, is written in a roundabout way, or
// that a mount option cannot carry, since that is a line of comma-separated values.
// Nothing is cleaned: what a path with .. means depends on links.
func checkPath(f *findings, p string) bool {
	switch {
	case !strings.HasPrefix(p, "/"):
		f.add("write the whole path, beginning with /", "sandbox path must be absolute: %s", p)
		return false
	case strings.ContainsAny(p, "\x00\n\r\",") || strings.TrimSpace(p) != p:
		f.add("use a folder whose name has no comma, quote, NUL or line break, and does not end in white space", "sandbox path cannot be mounted: %q", p)
		return false
	case !f.text("sandbox path", p, maxPath):
		return false
	case slices.Contains(strings.Split(p, "/"), ".."):
		f.add("write the path that is meant; where .. leads depends on links", "sandbox path must not hold ..: %s", p)
		return false
	case path.Clean(p) != p:
		f.add("write it as "+path.Clean(p), "sandbox path must be in its plain form: %s", p)
		return false
	}
	return true
}
