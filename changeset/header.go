package changeset

import "strings"

// shortOID is how many digits of an object id a diff shows.
const shortOID = 10

// header writes git's extended header of one file, without the index line.
func (d *differ) header(c *Change) {
	d.line(ansiBold, "diff --git "+prefixed("a/", c.oldPath())+" "+prefixed("b/", c.Path))
	switch {
	case c.Before == nil:
		d.line(ansiBold, "new file mode "+gitMode(c.After))
	case c.After == nil:
		d.line(ansiBold, "deleted file mode "+gitMode(c.Before))
	case gitMode(c.Before) != gitMode(c.After):
		d.line(ansiBold, "old mode "+gitMode(c.Before))
		d.line(ansiBold, "new mode "+gitMode(c.After))
	}
	if c.Op == Renamed && c.Before != nil && c.After != nil {
		if sameContents(c) {
			d.line(ansiBold, "similarity index 100%")
		}
		d.line(ansiBold, "rename from "+Quote(c.From))
		d.line(ansiBold, "rename to "+Quote(c.Path))
	}
}

// index writes the line of object ids, by which git can find the contents again.
func (d *differ) index(c *Change, old, new *blob, digits int) {
	from, to := zeroOID, zeroOID
	if c.Before != nil {
		from = old.oid()
	}
	if c.After != nil {
		to = new.oid()
	}
	line := "index " + from[:digits] + ".." + to[:digits]
	if c.Before != nil && c.After != nil && gitMode(c.Before) == gitMode(c.After) {
		line += " " + gitMode(c.After)
	}
	d.line(ansiBold, line)
}

const zeroOID = "0000000000000000000000000000000000000000"

// gitMode is the mode git keeps for an entry with contents.
func gitMode(e *Entry) string {
	switch {
	case e.Kind == Symlink:
		return "120000"
	case e.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// prefixed renders a name behind its prefix; quotes enclose both.
func prefixed(prefix, name string) string {
	if needsQuote(name) {
		return quoted(prefix + name)
	}
	return prefix + name
}

// sideName is what stands behind --- or +++. git ends a name that holds a space
// with a tab, so that the end of the name can be told.
func sideName(c *Change, side Side) string {
	e, prefix, name := c.Before, "a/", c.oldPath()
	if side == After {
		e, prefix, name = c.After, "b/", c.Path
	}
	if e == nil {
		return "/dev/null"
	}
	text := prefixed(prefix, name)
	if text[0] != '"' && strings.ContainsRune(text, ' ') {
		text += "\t"
	}
	return text
}

// differLine says that two sides differ without showing how; git apply refuses it.
func differLine(what string, c *Change) string {
	a, b := "/dev/null", "/dev/null"
	if c.Before != nil {
		a = prefixed("a/", c.oldPath())
	}
	if c.After != nil {
		b = prefixed("b/", c.Path)
	}
	return what + " " + a + " and " + b + " differ"
}

// beyondGit writes remarks on what git's format cannot carry.
func (d *differ) beyondGit(c *Change) {
	name := Quote(c.Path)
	b, a := c.Before, c.After
	switch {
	case b == nil && a != nil:
		if a.Kind == Dir && !d.implied[c.Path] {
			d.remark("%s/: new folder, mode %04o", name, a.Mode)
		} else if a.Kind == File && a.Mode&0o7000 != 0 {
			d.remark("%s: mode %04o", name, a.Mode)
		}
	case a == nil && b != nil:
		if b.Kind == Dir && !d.implied[c.Path] {
			d.remark("%s/: folder deleted", name)
		}
	case a != nil && b != nil:
		switch {
		case b.Kind != a.Kind:
			d.remark("%s: %s becomes %s", name, kindWord(b.Kind), kindWord(a.Kind))
		case a.Kind != Symlink && b.Mode != a.Mode && (a.Kind == Dir || gitMode(a) == gitMode(b) || (a.Mode|b.Mode)&0o7000 != 0):
			d.remark("%s: mode %04o -> %04o", name, b.Mode, a.Mode)
		}
	}
	var old, now map[string]string
	if b != nil {
		old = b.Xattrs
	}
	if a != nil {
		now = a.Xattrs
	}
	for _, k := range sortedKeys(now) {
		if v, ok := old[k]; !ok {
			d.remark("%s: extended attribute %s added", name, Quote(k))
		} else if v != now[k] {
			d.remark("%s: extended attribute %s changed", name, Quote(k))
		}
	}
	if a != nil {
		for _, k := range sortedKeys(old) {
			if _, ok := now[k]; !ok {
				d.remark("%s: extended attribute %s removed", name, Quote(k))
			}
		}
	}
}

func kindWord(k Kind) string {
	switch k {
	case Dir:
		return "folder"
	case Symlink:
		return "link"
	case File:
	}
	return "file"
}

// impliedFolders are the folders whose creation or deletion other changes of the
// set show anyway.
func impliedFolders(s *Set) map[string]bool {
	out := map[string]bool{}
	for i := range s.Changes {
		c := &s.Changes[i]
		for _, p := range []string{c.Path, c.From} {
			for {
				cut := strings.LastIndexByte(p, '/')
				if cut < 0 {
					break
				}
				p = p[:cut]
				if out[p] {
					break
				}
				out[p] = true
			}
		}
	}
	return out
}
