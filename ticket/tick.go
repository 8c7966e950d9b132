package ticket

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Box names the box of a task: the line it stood in when the ticket was read, and
// what is written behind it (Node.Text, or Node.Title where that is the same).
type Box struct {
	Line int
	Text string
}

// Box returns the box of a step; ok is false for a step that has none: the
// prerequisites, the fallback, a file that is a step as a whole.
func (n *Node) Box() (b Box, ok bool) {
	if n.Index == 0 || n.Line == 0 || n.Boxless {
		return Box{}, false
	}
	b = Box{Line: n.Line, Text: n.Text}
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
// The text may have been edited since it was read: where the line is another by
// now, the box with the same words counts if there is exactly one. src is not
// changed; it is returned where there is nothing to do.
func Tick(src []byte, boxes []Box) (out []byte, missing []Box) {
	lines := bytes.SplitAfter(src, []byte("\n"))
	var byText map[string][]int
	for _, b := range boxes {
		i := b.Line - 1
		text := plainBox(b.Text)
		if i < 0 || i >= len(lines) || text == "" || boxText(lines[i]) != text {
			if byText == nil {
				byText = map[string][]int{}
				for k, l := range lines {
					if t := boxText(l); t != "" {
						byText[t] = append(byText[t], k)
					}
				}
			}
			if found := byText[text]; len(found) == 1 {
				i = found[0]
			} else {
				missing = append(missing, b)
				continue
			}
		}
		lines[i] = tick(lines[i])
	}
	return bytes.Join(lines, nil), missing
}

// findBox returns where a line's box begins.
func findBox(line []byte) (at int, b box, ok bool) {
	s := string(line)
	at = len(s) - len(strings.TrimPrefix(s, "\ufeff"))
	at += len(s[at:]) - len(strings.TrimLeftFunc(s[at:], func(r rune) bool { return r == '>' || unicode.IsSpace(r) }))
	rest := s[at:]
	n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	switch {
	case rest == "":
		return 0, box{}, false
	case strings.ContainsRune("-*+", rune(rest[0])):
		at++
	case n > 0 && n < len(rest) && (rest[n] == '.' || rest[n] == ')'):
		at += n + 1
	default:
		return 0, box{}, false
	}
	at += len(s[at:]) - len(strings.TrimLeftFunc(s[at:], unicode.IsSpace))
	b, ok = readBox(s[at:])
	return at, b, ok
}

// boxText is what stands behind the box of a line, "" where there is no box.
func boxText(line []byte) string {
	at, b, ok := findBox(line)
	if !ok {
		return ""
	}
	return plainBox(string(line[at+b.text:]))
}

// plainBox takes off what one grammar counts to the text and the other does not:
// white space, and the star of an optional item.
func plainBox(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "*"); ok && strings.TrimLeft(rest, " \t") != rest {
		text = strings.TrimSpace(rest)
	}
	return text
}

// tick marks the box of a line. What is not to do any more stays as it is.
func tick(line []byte) []byte {
	at, b, ok := findBox(line)
	if !ok || b.state == StateDone || b.state == StateCancelled {
		return line
	}
	_, n := utf8.DecodeRune(line[at+1:])
	out := append(bytes.Clone(line[:at+1]), 'x')
	return append(out, line[at+1+n:]...)
}
