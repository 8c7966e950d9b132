package ticket

import (
	"bytes"
	"path"
	"strings"
)

// signs is what a file shows of its notation, found in one pass over its lines.
type signs struct {
	path  string   // slashes forward, lower case
	keys  []string // of front matter
	boxes int      // lines outside of code fences that look like boxes

	taskLabels int // boxes that begin with T001
	parallel   int // boxes with [P]
	stories    int // boxes with [US1]
	phases     int // headings that begin with "Phase 1" or its like

	numbers      int  // boxes that begin with 1. or 1.2
	requirements int  // lines _Requirements: …_
	dependsLines int  // lines _Depends: …_
	parallelP    int  // boxes with (P)
	optional     int  // boxes [ ]*
	waves        bool // a JSON block with "waves"
	planHeading  bool // a heading "Implementation Plan"

	numberedSections int // level 2 headings "1. Something"

	tasklist bool // GitHub's fence
	issues   int  // boxes that are a reference to an issue and no more

	markers bool // Backlog.md's comments around its sections

	emojiIDs int // boxes with 🆔, ⛔ or the fields of Dataview
	dates    int // boxes with an emoji of a date, a priority or recurrence
	taskTags int // boxes with #task
}

// readSigns looks at every line once.
func readSigns(s *source, name string) *signs {
	g := &signs{path: strings.ToLower(strings.ReplaceAll(name, `\`, "/"))}
	from := 1
	if len(s.lines) > 0 && isFence(s.line(1), false) {
		for n := 2; n <= len(s.lines); n++ {
			line := s.line(n)
			if isFence(line, true) {
				from = n + 1
				break
			}
			if key, _, ok := bytes.Cut(line, []byte{':'}); ok && len(key) < 40 && !bytes.ContainsAny(key, " \t#-'\"") {
				g.keys = append(g.keys, string(key))
			}
		}
		if from == 1 {
			g.keys = nil // never closed: no front matter
		}
	}
	fence := ""    // the marks that opened the code block we are in
	tasklist := "" // those of GitHub's fence, whose boxes count
	for n := from; n <= len(s.lines); n++ {
		line := bytes.TrimLeft(s.line(n), " \t>")
		if fence != "" {
			if bytes.HasPrefix(line, []byte(fence)) && len(bytes.Trim(line, "`~ \t")) == 0 {
				fence = ""
			} else if bytes.Contains(line, []byte(`"waves"`)) {
				g.waves = true
			}
			continue
		}
		if len(line) == 0 {
			continue
		}
		switch line[0] {
		case '`', '~':
			if mark := fenceMark(line); mark != "" {
				if tasklist != "" && bytes.HasPrefix(line, []byte(tasklist)) && len(bytes.Trim(line, "`~ \t")) == 0 {
					tasklist = ""
					continue
				}
				if bytes.HasPrefix(bytes.TrimLeft(line[len(mark):], " "), []byte("[tasklist]")) {
					g.tasklist, tasklist = true, mark
					continue
				}
				fence = mark
			}
		case '#':
			g.heading(line)
		case '<':
			g.markers = g.markers || bytes.HasPrefix(line, []byte("<!-- AC:BEGIN")) || bytes.HasPrefix(line, []byte("<!-- SECTION:"))
		default:
			if boxLike(line) {
				g.boxes++
				g.box(line)
			} else {
				g.text(line)
			}
		}
	}
	return g
}

// fenceMark returns the backticks or tildes a line opens a code block with.
func fenceMark(line []byte) string {
	n := 0
	for n < len(line) && line[n] == line[0] {
		n++
	}
	if n < 3 || line[0] == '`' && bytes.IndexByte(line[n:], '`') >= 0 {
		return ""
	}
	return string(line[:n])
}

func (g *signs) heading(line []byte) {
	if len(line) > 200 {
		line = line[:200]
	}
	level := len(line) - len(bytes.TrimLeft(line, "#"))
	title := strings.ToValidUTF8(strings.TrimSpace(string(line[level:])), "")
	if isPhase(title) {
		g.phases++
	}
	switch plainHeading(beforeRemark(title)) {
	case "implementation plan", "task list":
		g.planHeading = true
	}
	if l, ok := leadingLabel(title); ok && level == 2 && l.family == "" && l.n == 1 {
		g.numberedSections++
	}
}

func (g *signs) box(line []byte) {
	if len(line) > 2048 { // signs stand at the ends of what people write in a line
		line = append(append([]byte{}, line[:1024]...), line[len(line)-1024:]...)
	}
	s := strings.ToValidUTF8(string(line), "")
	open := strings.IndexByte(s, '[')
	if strings.HasPrefix(s[open+1:], " ]*") || strings.HasPrefix(s[open+1:], "x]*") {
		g.optional++
	}
	_, text, _ := strings.Cut(s[open:], "]")
	text = strings.TrimSpace(strings.TrimPrefix(text, "*"))
	if l, ok := leadingLabel(text); ok {
		switch {
		case l.family == "t" && l.n == 1 && len(l.text) >= 4:
			g.taskLabels++
		case l.family == "":
			g.numbers++
		}
	}
	story, side := labelTags(text)
	if side {
		g.parallel++
	}
	if story != "" {
		g.stories++
	}
	if strings.Contains(text, "(P)") {
		g.parallelP++
	}
	if isIssueReference(text) {
		g.issues++
	}
	if strings.Contains(text, markID) || strings.Contains(text, markBlocked) || strings.Contains(text, "[dependsOn::") || strings.Contains(text, "[id::") {
		g.emojiIDs++
	}
	if _, ok := taskField(text); ok {
		g.dates++
	}
	if strings.HasPrefix(text, "#task ") || strings.Contains(text, " #task") {
		g.taskTags++
	}
}

func (g *signs) text(line []byte) {
	line = bytes.TrimLeft(line, "-*+ ")
	switch {
	case bytes.HasPrefix(line, []byte("_Requirements:")), bytes.HasPrefix(line, []byte("Requirements:")) && len(line) < 200:
		g.requirements++
	case bytes.HasPrefix(line, []byte("_Depends")):
		g.dependsLines++
	}
}

// most reports whether a count is at least half of the boxes.
func (g *signs) most(n int) bool { return n > 0 && 2*n >= g.boxes }

// under reports whether the file lies in one of these folders.
func (g *signs) under(folders ...string) bool {
	for _, f := range folders {
		if strings.HasPrefix(g.path, f+"/") || strings.Contains(g.path, "/"+f+"/") {
			return true
		}
	}
	return false
}

// base returns the name of the file.
func (g *signs) base() string { return path.Base(g.path) }

// list joins what was found for a sentence: "a, b and c".
func list(parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	if len(kept) < 2 {
		return strings.Join(kept, "")
	}
	return strings.Join(kept[:len(kept)-1], ", ") + " and " + kept[len(kept)-1]
}

// found words a count for a sentence: "3 boxes marked [P]"; "" for none.
func found(n int, noun, what string) string {
	if n == 0 {
		return ""
	}
	return count(n, noun) + what
}

// given returns a word if something is the case.
func given(is bool, word string) string {
	if is {
		return word
	}
	return ""
}
