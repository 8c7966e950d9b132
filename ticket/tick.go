package ticket

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// Box names the box of a task: where it stood when the ticket was read, and what
// is written behind it (Node.Text, or Node.Title where that is the same).
type Box struct {
	Line   int // of the bracket, numbered as the parser does
	Column int // of the bracket, 1-based, in bytes; 0 = not known
	Text   string
	// Literal says that the text ends at LF only, as in the literal grammar.
	Literal bool
}

// Box returns the box of a step; ok is false for a step that has none: the
// prerequisites, the fallback, a file that is a step as a whole.
func (d *Dag) Box(n *Node) (b Box, ok bool) {
	if n.Index == 0 || n.Line == 0 || n.Boxless {
		return Box{}, false
	}
	b = Box{Line: n.Line, Column: n.BoxColumn, Text: n.Text, Literal: d.Literal}
	if n.BoxLine > 0 {
		b.Line = n.BoxLine
	}
	if b.Text == "" {
		b.Text = n.Title
	}
	return b, true
}

// Tick returns the ticket's text with the boxes marked as done, and the boxes that
// were not found. No other byte changes: line ends, a byte order mark, blanks at
// the end of a line and a missing last line end stay. A box that is done already
// stays as it is.
//
// The text may have been edited since it was read: a box with the same words where
// it stood, else on the same line, counts, else the one box with those words if
// there is exactly one. src is not changed; it is returned where there is nothing
// to do.
func Tick(src []byte, boxes []Box) (out []byte, missing []Box) {
	t := newTicking(src)
	var at []int
	for _, b := range boxes {
		if i := t.find(b); i >= 0 {
			at = append(at, i)
		} else {
			missing = append(missing, b)
		}
	}
	slices.Sort(at)
	from := 0
	for _, i := range slices.Compact(at) {
		if b, ok := readBox(t.rest(i, false)); ok && (b.state == StateDone || b.state == StateCancelled) {
			continue
		}
		out = append(append(out, src[from:i+1]...), 'x')
		from = i + 1 + bytes.IndexByte(src[i+1:], ']')
	}
	if from == 0 {
		return src, missing
	}
	return append(out, src[from:]...), missing
}

// ticking is a text in which boxes are looked for. Lines are those of the parser:
// LF, CR LF and a lone CR end one.
type ticking struct {
	src    []byte
	lines  []int // offset of the first byte of each line
	byText [2]map[string][]int
}

func newTicking(src []byte) *ticking {
	t := &ticking{src: src, lines: []int{0}}
	if bytes.HasPrefix(src, byteOrderMark) {
		t.lines[0] = len(byteOrderMark)
	}
	for i, c := range src {
		if c == '\n' || c == '\r' && (i+1 == len(src) || src[i+1] != '\n') {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// find returns the offset of a box's bracket, -1 if there is none that is surely
// meant.
func (t *ticking) find(b Box) int {
	text := plainBox(b.Text, b.Literal)
	if b.Line >= 1 && b.Line <= len(t.lines) {
		start := t.lines[b.Line-1]
		if i := start + b.Column - 1; b.Column > 0 && i < len(t.src) && t.isBox(i, b.Literal, text) {
			return i
		}
		if i, ok := t.boxIn(start, b.Literal); ok && text != "" && t.isBox(i, b.Literal, text) {
			return i
		}
	}
	k := 0
	if b.Literal {
		k = 1
	}
	if t.byText[k] == nil {
		t.byText[k] = map[string][]int{}
		for _, start := range t.lines {
			if i, ok := t.boxIn(start, b.Literal); ok {
				words, below, _ := t.text(i, b.Literal)
				if below {
					words = strings.TrimLeft(words, "> \t")
				}
				t.byText[k][words] = append(t.byText[k][words], i)
			}
		}
	}
	if found := t.byText[k][text]; len(found) == 1 && text != "" {
		return found[0]
	}
	return -1
}

// isBox reports whether a box with that text stands at an offset.
func (t *ticking) isBox(i int, literal bool, text string) bool {
	words, below, ok := t.text(i, literal)
	return ok && (words == text || below && strings.HasSuffix(words, text)) // below may begin with the marks of quotes
}

// rest is what stands from an offset to the end of its line.
func (t *ticking) rest(i int, literal bool) string {
	ends := "\r\n"
	if literal {
		ends = "\n"
	}
	rest := t.src[i:]
	if n := bytes.IndexAny(rest, ends); n >= 0 {
		rest = rest[:n]
	}
	return string(rest)
}

// text is what stands behind the box at an offset: on its line, or where that is
// empty and the grammar lets a task begin there, on the line below.
func (t *ticking) text(i int, literal bool) (text string, below, ok bool) {
	line := t.rest(i, literal)
	if literal {
		if len(line) < 3 || line[0] != '[' || line[2] != ']' || !strings.ContainsRune(" xX", rune(line[1])) {
			return "", false, false
		}
		return plainBox(line[3:], true), false, true
	}
	b, ok := readBox(line)
	if !ok {
		return "", false, false
	}
	text = plainBox(line[b.text:], false)
	if text == "" {
		if n, _ := slices.BinarySearch(t.lines, i+1); n < len(t.lines) {
			text = plainBox(t.rest(t.lines[n], false), false)
			below = true
		}
	}
	return text, below, true
}

// boxIn returns where the box of a line begins, behind as many list marks as
// there are. The literal grammar knows one, and lines that LF begins.
func (t *ticking) boxIn(start int, literal bool) (at int, ok bool) {
	s := t.rest(start, literal)
	if literal {
		_, _, _, ok = literalTask(s)
		return start + literalBox(s), ok && (start == 0 || t.src[start-1] == '\n')
	}
	for i := 0; ; {
		i += len(s[i:]) - len(strings.TrimLeftFunc(s[i:], func(r rune) bool { return r == '>' || unicode.IsSpace(r) }))
		rest := s[i:]
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		switch {
		case rest == "":
			return 0, false
		case strings.ContainsRune("-*+", rune(rest[0])):
			i++
		case n > 0 && n < len(rest) && (rest[n] == '.' || rest[n] == ')'):
			i += n + 1
		default:
			return 0, false
		}
		i += len(s[i:]) - len(strings.TrimLeftFunc(s[i:], unicode.IsSpace))
		if _, ok := readBox(s[i:]); ok {
			return start + i, true
		}
	}
}

// plainBox takes off what one reading counts to the text and the other does not:
// white space, of which the literal grammar knows more, and the star of an
// optional item.
func plainBox(text string, literal bool) string {
	trim := strings.TrimSpace
	if literal {
		trim = pyStrip
	}
	text = trim(text)
	if rest, ok := strings.CutPrefix(text, "*"); ok && strings.TrimLeft(rest, " \t") != rest {
		text = trim(rest)
	}
	return text
}
