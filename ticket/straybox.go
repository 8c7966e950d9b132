package ticket

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// strayBullets are the signs that people, editors and input methods write where
// Markdown has "-". A box behind one is a checklist item to whoever reads the file.
const strayBullets = "-*+•‣⁃·∙・●○◦▪▫■–—―‒−‐‑－＊＋"

// lineBreaks end a line in many editors and for whoever looks at it, but not in
// Markdown.
const lineBreaks = "\u2028\u2029\u0085\v\f"

// personsBox returns the first box in a line that a person sees, whether or not
// Markdown can: also behind white space or invisible characters that Markdown takes
// for text, and behind a bullet it does not know or none. read leaves out the start
// of the line; breaks says that there may be lineBreaks in it, behind which another
// line begins.
func personsBox(line []byte, read, breaks bool) (rest []byte, ok bool) {
	for len(line) > 0 {
		part, next := line, -1
		if breaks {
			if next = bytes.IndexAny(line, lineBreaks); next >= 0 {
				part = line[:next]
			}
		}
		if !read {
			if rest, ok := strayStart(part); ok {
				return rest, true
			}
		}
		if next < 0 {
			break
		}
		read = false
		_, n := utf8.DecodeRune(line[next:])
		line = line[next+n:]
	}
	return nil, false
}

// strayStart reads blanks, a bullet or number, blanks, and a box.
func strayStart(line []byte) (rest []byte, ok bool) {
	line = bytes.TrimLeftFunc(line, func(r rune) bool { return r == '>' || unseen(r) })
	if len(line) < 2 || bytes.IndexByte(line, '[') < 0 {
		return nil, false
	}
	after := line
	if r, n := utf8.DecodeRune(line); strings.ContainsRune(strayBullets, r) {
		after = line[n:]
	} else if n := len(line) - len(bytes.TrimLeft(line, "0123456789")); n > 0 && n < 10 {
		if r, m := utf8.DecodeRune(line[n:]); strings.ContainsRune(".)、．）", r) {
			after = line[n+m:]
		}
	}
	rest = bytes.TrimLeftFunc(after, unseen)
	if len(after) == len(line) && !plainBoxAt(rest) {
		return nil, false // brackets without a bullet are a box only if nothing else can be meant
	}
	return rest, boxStart(rest, len(rest) == len(after))
}

// plainBoxAt reports whether a text begins with [ ] or [x] and a blank.
func plainBoxAt(s []byte) bool {
	return len(s) > 4 && s[0] == '[' && (s[1]|0x20 == 'x' || s[1] == ' ') && s[2] == ']' && s[3] == ' '
}

// unseen reports white space and characters that show nothing: a zero width space,
// a byte order mark, marks of direction.
func unseen(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// tickedBox reports whether the box at the start of a text says that nothing is
// left to do; [x ] counts, too.
func tickedBox(rest []byte) bool {
	if len(rest) > 64 {
		rest = rest[:64]
	}
	if b, ok := readBox(string(rest)); ok {
		return b.state == StateDone || b.state == StateCancelled
	}
	inner, _, _ := strings.Cut(strings.TrimPrefix(string(rest), "["), "]")
	return strings.EqualFold(strings.TrimSpace(inner), "x")
}
