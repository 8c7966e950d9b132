package overlay

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// mountPoint is one line of /proc/self/mountinfo.
type mountPoint struct {
	device string // major:minor of the file system
	root   string // the directory of the file system that is mounted
	path   string // where
	fsType string
}

// readMounts lists the mounts this process sees, in the order they were made.
func readMounts() ([]mountPoint, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(raw), nil
}

// parseMounts reads the format of proc_pid_mountinfo(5); lines it does not
// understand are left out.
func parseMounts(raw []byte) []mountPoint {
	var out []mountPoint
	for line := range bytes.Lines(raw) {
		head, tail, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " - ")
		f := strings.Fields(head)
		g := strings.Fields(tail)
		if !ok || len(f) < 6 || len(g) < 1 {
			continue
		}
		out = append(out, mountPoint{device: f[2], root: unescapeMount(f[3]), path: unescapeMount(f[4]), fsType: g[0]})
	}
	return out
}

// unescapeMount undoes the octal escapes of space, tab, newline, backslash and #.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountsBelow lists the mounts strictly inside a directory.
func mountsBelow(mounts []mountPoint, dir string) []string {
	var out []string
	for _, m := range mounts {
		if m.path != dir && inside(dir, m.path) {
			out = append(out, m.path)
		}
	}
	return out
}

// place is where a directory lies in its file system, whatever mount it is seen
// through: two paths with the same place are one directory.
type place struct{ device, path string }

func placeOf(mounts []mountPoint, path string) place {
	var best *mountPoint
	for i, m := range mounts {
		if inside(m.path, path) && (best == nil || len(m.path) >= len(best.path)) {
			best = &mounts[i]
		}
	}
	if best == nil {
		return place{path: path}
	}
	rel := strings.TrimPrefix(path, strings.TrimSuffix(best.path, "/"))
	return place{best.device, strings.TrimSuffix(best.root, "/") + rel}
}
