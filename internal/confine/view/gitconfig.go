package view

import (
	"path"
	"strings"
)

// gitSetting is one assignment of a git configuration file.
type gitSetting struct {
	section, sub, key, value string
	bare                     bool // "key" alone, which means true
}

// name is section.key in lower case; for a subsection, section.sub.key.
func (s gitSetting) name() string {
	if s.sub != "" {
		return s.section + "." + s.sub + "." + s.key
	}
	return s.section + "." + s.key
}

// gitReader collects settings from the person's files and what they include.
type gitReader struct {
	v        *viewer
	roots    []string
	settings []gitSetting
}

// maxIncludes is how deep includes may nest; git's own limit is 10.
const maxIncludes = 10

// file reads one file; one that is missing or malformed gives nothing.
func (r *gitReader) file(p string, depth int) {
	b, err := r.v.host.ReadHead(p, 1<<20)
	if err != nil || depth > maxIncludes {
		return
	}
	for _, s := range parseGit(string(b)) {
		if s.key == "path" && (s.section == "include" && s.sub == "" || s.section == "includeif" && r.holds(s.sub)) {
			inc := r.v.expand(s.value)
			if !path.IsAbs(inc) {
				inc = path.Join(path.Dir(p), inc)
			}
			r.file(inc, depth+1)
			continue
		}
		r.settings = append(r.settings, s)
	}
}

// holds reports whether an includeIf condition holds for one of the resources.
// Conditions on the repository's place are known; others do not hold.
func (r *gitReader) holds(cond string) bool {
	pattern, ok := strings.CutPrefix(cond, "gitdir:")
	fold := false
	if !ok {
		if pattern, ok = strings.CutPrefix(cond, "gitdir/i:"); !ok {
			return false
		}
		fold = true
	}
	pattern = r.v.expand(pattern)
	prefix, any := strings.CutSuffix(pattern, "/**")
	if !any {
		if prefix, any = strings.CutSuffix(pattern, "/"); !any {
			prefix = pattern
		}
	}
	for _, root := range r.roots {
		dir := root + "/.git"
		if fold {
			dir, prefix = strings.ToLower(dir), strings.ToLower(prefix)
		}
		if dir == prefix || root == prefix || any && within(dir, prefix) {
			return true
		}
	}
	return false
}

// parseGit reads git's configuration syntax (git-config(1), "Syntax"). What it
// does not understand ends the file, as for git it would be an error.
func parseGit(src string) []gitSetting {
	var out []gitSetting
	p := &gitParser{src: strings.TrimPrefix(src, "\ufeff")}
	var section, sub string
	for {
		p.skip()
		switch c := p.peek(); {
		case c == 0:
			return out
		case c == '[':
			var ok bool
			if section, sub, ok = p.section(); !ok {
				return out
			}
		default:
			s, ok := p.setting()
			if !ok || section == "" {
				return out
			}
			s.section, s.sub = section, sub
			out = append(out, s)
		}
	}
}

// gitParser is a position in a configuration file.
type gitParser struct {
	src string
	i   int
}

func (p *gitParser) peek() byte {
	if p.i >= len(p.src) {
		return 0
	}
	return p.src[p.i]
}

// skip passes blanks, line ends and comments.
func (p *gitParser) skip() {
	for p.i < len(p.src) {
		switch c := p.src[p.i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			p.i++
		case c == '#' || c == ';':
			p.line()
		default:
			return
		}
	}
}

// line passes the rest of the line.
func (p *gitParser) line() {
	for p.i < len(p.src) && p.src[p.i] != '\n' {
		p.i++
	}
}

// section reads [name] or [name "sub"].
func (p *gitParser) section() (name, sub string, ok bool) {
	p.i++
	start := p.i
	for p.i < len(p.src) && (isKeyByte(p.src[p.i]) || p.src[p.i] == '.') {
		p.i++
	}
	name = strings.ToLower(p.src[start:p.i])
	for p.peek() == ' ' || p.peek() == '\t' {
		p.i++
	}
	if p.peek() == '"' {
		var b strings.Builder
		for p.i++; p.i < len(p.src) && p.src[p.i] != '"' && p.src[p.i] != '\n'; p.i++ {
			if p.src[p.i] == '\\' && p.i+1 < len(p.src) {
				p.i++
			}
			b.WriteByte(p.src[p.i])
		}
		if p.peek() != '"' {
			return "", "", false
		}
		p.i++
		sub = b.String()
	}
	if p.peek() != ']' || name == "" {
		return "", "", false
	}
	p.i++
	return name, sub, true
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

// setting reads key, or key = value with quotes, escapes and continued lines.
func (p *gitParser) setting() (gitSetting, bool) {
	start := p.i
	for p.i < len(p.src) && isKeyByte(p.src[p.i]) {
		p.i++
	}
	s := gitSetting{key: strings.ToLower(p.src[start:p.i])}
	for p.peek() == ' ' || p.peek() == '\t' {
		p.i++
	}
	switch p.peek() {
	case '=':
		p.i++
	case '\r', '\n', 0, '#', ';':
		s.bare = true
		return s, s.key != ""
	default:
		return s, false
	}
	v, ok := p.value()
	s.value = v
	return s, ok && s.key != ""
}

func (p *gitParser) value() (string, bool) {
	var b strings.Builder
	blanks, quoted := 0, false // blanks count only if something follows
	for p.peek() == ' ' || p.peek() == '\t' {
		p.i++
	}
	flush := func() {
		b.WriteString(strings.Repeat(" ", blanks))
		blanks = 0
	}
	put := func(c byte) {
		flush()
		b.WriteByte(c)
	}
	for ; p.i < len(p.src); p.i++ {
		switch c := p.src[p.i]; {
		case c == '\n':
			return b.String(), !quoted
		case c == '\r' && p.i+1 < len(p.src) && p.src[p.i+1] == '\n':
		case c == '"':
			flush()
			quoted = !quoted
		case !quoted && (c == '#' || c == ';'):
			p.line()
			return b.String(), true
		case !quoted && (c == ' ' || c == '\t'):
			blanks++
		case c == '\\':
			p.i++
			switch p.peek() {
			case '\n':
			case '\r':
				if p.i+1 < len(p.src) && p.src[p.i+1] == '\n' {
					p.i++
				}
			case 'n':
				put('\n')
			case 't':
				put('\t')
			case 'b':
				put('\b')
			case '\\', '"':
				put(p.peek())
			default:
				return "", false
			}
		default:
			put(c)
		}
	}
	return b.String(), !quoted
}

// renderGit writes settings so that parseGit and git read the same back.
func renderGit(settings []gitSetting) string {
	var b strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	last := ""
	for _, s := range settings {
		if strings.ContainsRune(s.value+s.sub, 0) || strings.ContainsRune(s.sub, '\n') {
			continue
		}
		head := "[" + s.section
		if s.sub != "" {
			head += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.sub) + `"`
		}
		if head += "]\n"; head != last {
			b.WriteString(head)
			last = head
		}
		if s.bare {
			b.WriteString("\t" + s.key + "\n")
			continue
		}
		b.WriteString("\t" + s.key + ` = "` + quote.Replace(s.value) + "\"\n")
	}
	return b.String()
}
