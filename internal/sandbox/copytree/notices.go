package copytree

import (
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// list says what a copy left out or lost (C41). below is where it stands in the tree.
func (c *creation) list(below string, st fsop.CopyStats) {
	at := func(path string) string {
		if below == "" {
			return path
		}
		return fsop.Join(below, path)
	}
	var out, lost []string
	for _, sk := range st.Skipped {
		c.skipped = append(c.skipped, changeset.Skip{Path: at(sk.Path), Reason: sk.Reason})
		out = append(out, fmt.Sprintf("%s (%s)", at(sk.Path), sk.Reason))
	}
	for _, l := range st.Lost {
		lost = append(lost, fmt.Sprintf("%s (%s)", at(l.Path), l.Reason))
	}
	c.name(out, "not copied")
	c.name(lost, "copied without an attribute")
	unstable := make([]string, 0, len(st.Unstable))
	for _, p := range st.Unstable {
		unstable = append(unstable, at(p))
	}
	c.name(unstable, "written to while it was copied, so perhaps torn")
}

// name makes a notice of a list of paths: the count, and the first of them.
func (c *creation) name(paths []string, what string) {
	const most = 5
	switch n := len(paths); {
	case n == 0:
	case n == 1:
		c.notice("%s: %s", what, paths[0])
	case n <= most:
		c.notice("%s: %d paths: %s", what, n, strings.Join(paths, ", "))
	default:
		c.notice("%s: %d paths: %s, ...", what, n, strings.Join(paths[:most], ", "))
	}
}

// leadingOut names absolute links into the original. Under namespaces of its own
// the copy lies at the very path they name; elsewhere they lead out of it.
func (c *creation) leadingOut(m *manifest) {
	if c.req.Confined {
		return
	}
	var out []string
	for i := range m.entries {
		e := &m.entries[i]
		for _, root := range []string{c.req.Resource.Path, c.req.Resource.Spelled} {
			if root != "" && (e.link == root || strings.HasPrefix(e.link, root+"/")) {
				out = append(out, e.path)
			}
		}
	}
	c.name(out, "link that leads out of the copy into the original")
}

// errChanging is met when the source would not hold still.
func errChanging(what string) error {
	return fault.New(fault.Conflict, "", "%s kept changing while it was copied", what).
		WithHint("wait until other git commands on it are done, then repeat")
}
