package view

import (
	"bufio"
	"bytes"
	"path"
	"strconv"
	"strings"
)

// mountEntry is one line of /proc/self/mountinfo.
type mountEntry struct {
	device string // major:minor of the super block
	root   string // which of the file system's folders is mounted
	point  string // where
}

// mountTable reads the host's mounts, once.
func (v *viewer) mountTable() []mountEntry {
	if v.mountsI == nil {
		b, err := v.host.ReadHead("/proc/self/mountinfo", 8<<20)
		if err == nil {
			v.mountsI = parseMountinfo(b)
		}
		if v.mountsI == nil {
			v.mountsI = []mountEntry{}
		}
	}
	return v.mountsI
}

// parseMountinfo reads the fields of proc(5): id, parent, major:minor, root, mount point.
func parseMountinfo(b []byte) []mountEntry {
	var es []mountEntry
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 5 {
			continue
		}
		es = append(es, mountEntry{device: f[2], root: unescape(f[3]), point: unescape(f[4])})
	}
	return es
}

// unescape undoes mountinfo's octal escapes of space, tab, newline and backslash.
func unescape(s string) string {
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// Aliases returns the other paths of the host at which another mount shows p or
// a part of it.
func Aliases(host Host, p string) []string {
	v := &viewer{host: host}
	return v.aliases(p)
}

// aliases returns the other paths at which another mount shows p or a part of
// it: a bind mount of it, of a folder above it or below it.
func (v *viewer) aliases(p string) []string {
	p = v.real(p)
	at := -1
	table := v.mountTable()
	for i, e := range table {
		// Of mounts on one point the last one counts.
		if within(p, e.point) && (at < 0 || len(e.point) >= len(table[at].point)) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	inFS := path.Join(table[at].root, strings.TrimPrefix(p, table[at].point))
	var found []string
	for i, e := range table {
		if i == at || e.device != table[at].device {
			continue
		}
		switch {
		case within(inFS, e.root):
			other := path.Join(e.point, strings.TrimPrefix(inFS, e.root))
			// Another mount may lie over it.
			if other != p && v.host.Same(other, p) {
				found = append(found, other)
			}
		case within(e.root, inFS) && e.root != inFS:
			inside := path.Join(p, strings.TrimPrefix(e.root, inFS))
			if !within(e.point, p) && v.host.Same(e.point, inside) {
				found = append(found, e.point)
			}
		}
	}
	return found
}
