package ticket

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
)

// box is the [ ] of a checklist item.
type box struct {
	mark     string // what stands between the brackets
	state    State  // "" if the mark is none of the known ones
	optional bool   // [ ]* marks an optional item
	glued    bool   // no white space between box and text
	text     int    // index of the first character of the text
}

// boxStates maps marks to states.
var boxStates = map[string]State{
	" ": StateTodo, "x": StateDone, "X": StateDone, "-": StateCancelled, "~": StateDeferred, "/": StateDoing,
	"✓": StateDone, "✔": StateDone, "✅": StateDone, "☑": StateDone,
}

const variationSelector = "\ufe0f" // asks for the coloured form of the character before it

// readBox reads a box at the start of s. A link ([x](…), [x][y], [x]: …) and a
// longer text in brackets are none.
func readBox(s string) (box, bool) {
	if len(s) < 3 || s[0] != '[' {
		return box{}, false
	}
	_, n := utf8.DecodeRuneInString(s[1:])
	mark, rest := s[1:1+n], s[1+n:]
	rest = strings.TrimPrefix(rest, variationSelector)
	if mark == "]" || mark == "[" || !strings.HasPrefix(rest, "]") {
		return box{}, false
	}
	rest = rest[1:]
	b := box{mark: mark, state: boxStates[mark]}
	if strings.HasPrefix(rest, "*") && (len(rest) == 1 || rest[1] == ' ' || rest[1] == '\t') {
		b.optional, rest = true, rest[1:]
	}
	trimmed := strings.TrimLeftFunc(rest, unicode.IsSpace)
	b.text = len(s) - len(trimmed)
	if len(trimmed) == len(rest) && rest != "" {
		// Only the plain marks, and nothing that makes a link of it.
		if mark != " " && mark != "x" && mark != "X" || strings.ContainsRune("([:", rune(rest[0])) {
			return box{}, false
		}
		b.glued = true
	}
	return b, true
}

// boxLike reports whether a line looks like a checklist item to a person, whether
// or not Markdown reads it as one.
func boxLike(line []byte) bool {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '>') {
		i++
	}
	line = line[i:]
	if len(line) < 3 {
		return false
	}
	switch c := line[0]; {
	case c == '-' || c == '*' || c == '+':
		line = line[1:]
	case c >= '0' && c <= '9':
		n := 1
		for n < len(line) && n < 9 && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		if n == len(line) || line[n] != '.' && line[n] != ')' {
			return false
		}
		line = line[n+1:]
	default:
		return false
	}
	i = 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return boxStart(line[i:], i == 0)
}

// boxStart reports whether what stands behind a bullet looks like a box to a
// person; glued: there is nothing between the two.
func boxStart(rest []byte, glued bool) bool {
	if len(rest) < 2 || rest[0] != '[' {
		return false
	}
	if len(rest) > 64 { // a box is short; do not copy the line
		rest = rest[:64]
	}
	s := string(rest)
	if b, ok := readBox(s); ok {
		return !glued || b.mark == " " || b.mark == "x" || b.mark == "X"
	}
	// Slips: [], [x ], [ x].
	inner, after, ok := strings.Cut(s[1:], "]")
	if !ok || after != "" && after[0] != ' ' && after[0] != '\t' {
		return false
	}
	t := strings.ToLower(strings.TrimSpace(inner))
	return (t == "" || t == "x") && len(inner) <= 4
}

// reportStates notes tasks that will not run, and ticked tasks with open children.
func (r *reader) reportStates() {
	var cancelled, deferred, open lineSet
	for _, t := range r.t.Tasks {
		switch t.State {
		case StateCancelled:
			cancelled.add(t.Line, t.Column)
		case StateDeferred:
			deferred.add(t.Line, t.Column)
		case StateDone:
			for _, c := range t.Children {
				if s := r.t.Tasks[c-1].State; s == StateTodo || s == StateDoing {
					open.add(t.Line, t.Column)
					break
				}
			}
		case StateTodo, StateDoing: // they run
		}
	}
	if len(cancelled.lines) > 0 {
		r.rep.note(cancelled.lines[0], cancelled.column, finding{
			summary: count(len(cancelled.lines), "task") + " cancelled ([-]): not run; what depends on them goes on",
			detail:  lineList(cancelled.lines),
		})
	}
	if len(deferred.lines) > 0 {
		r.rep.note(deferred.lines[0], deferred.column, finding{
			summary: count(len(deferred.lines), "task") + " deferred ([~]): not run; what depends on them waits",
			detail:  lineList(deferred.lines),
		})
	}
	if len(open.lines) > 0 {
		r.rep.add(fault.SeverityWarning, open.lines[0], open.column, finding{
			summary: count(len(open.lines), "ticked task") + " with nested tasks that are not",
			detail:  lineList(open.lines) + "; the nested tasks are still planned",
		})
	}
}
