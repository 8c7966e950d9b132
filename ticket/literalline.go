package ticket

import (
	"strings"
	"unicode/utf8"
)

// The three expressions of the literal grammar, each as the automaton it is: one
// pass over the line, whatever is in it.

// literalTask matches
//
//	^\s*[-*]\s*\[( |x|X)\]\s*(?P<text>.+?)\s*$
//
// A box with nothing but white space behind it is a task without text, because
// the expression gives one character of it to the text.
func literalTask(line string) (text string, offset int, done, ok bool) {
	i := skipPySpace(line, 0)
	if i == len(line) || line[i] != '-' && line[i] != '*' {
		return "", 0, false, false
	}
	i = skipPySpace(line, i+1)
	if len(line)-i < 4 || line[i] != '[' || line[i+2] != ']' {
		return "", 0, false, false
	}
	switch line[i+1] {
	case ' ':
	case 'x', 'X':
		done = true
	default:
		return "", 0, false, false
	}
	offset = skipPySpace(line, i+3)
	return pyStrip(line[offset:]), offset, done, true
}

// literalBox returns where the box of a task begins.
func literalBox(line string) int { return skipPySpace(line, skipPySpace(line, 0)+1) }

// literalClause searches for the first match of
//
//	\b(?:depends on|requires|after)\s+(?P<ids>[A-Za-z0-9\-_]+(?:\s*,\s*[A-Za-z0-9\-_]+)*)
//
// in any case, and returns its place and the ids.
func literalClause(text string) (at span, ids []string, ok bool) {
	before := rune(' ')
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if c := r | 0x20; (c == 'd' || c == 'r' || c == 'a') && !pyWord(before) {
			if from := literalKeyword(text, i); from > 0 {
				if first := skipPySpace(text, from); first > from {
					if end, ids := literalIDs(text, first); len(ids) > 0 {
						return span{i, end}, ids, true
					}
				}
			}
		}
		before = r
		i += n
	}
	return span{}, nil, false
}

// literalKeyword returns the place behind the keyword at text[i:]; 0 if there is
// none.
func literalKeyword(text string, i int) int {
	for _, word := range [...]string{"depends on", "requires", "after"} {
		j, k := i, 0
		for k < len(word) && j < len(text) {
			r, n := utf8.DecodeRuneInString(text[j:])
			if pyFold(r) != rune(word[k]) {
				break
			}
			j, k = j+n, k+1
		}
		if k == len(word) {
			return j
		}
	}
	return 0
}

// literalIDs reads ids separated by commas and returns the place behind the last.
func literalIDs(text string, i int) (end int, ids []string) {
	for {
		from := i
		for i < len(text) {
			r, n := utf8.DecodeRuneInString(text[i:])
			if c := pyFold(r); (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				break
			}
			i += n
		}
		if i == from {
			return end, ids
		}
		end, ids = i, append(ids, text[from:i])
		if i = skipPySpace(text, i); i == len(text) || text[i] != ',' {
			return end, ids
		}
		i = skipPySpace(text, i+1)
	}
}

// literalPath matches
//
//	^\s*[-*]\s*`?(?P<path>[^`]+?)`?\s*(?:[-–—:]\s*(?P<note>.*))?$
//
// A path of white space only is none: it would name every task.
func literalPath(line string) (path string, ok bool) {
	i := skipPySpace(line, 0)
	if i == len(line) || line[i] != '-' && line[i] != '*' {
		return "", false
	}
	i = skipPySpace(line, i+1)
	if strings.HasPrefix(line[i:], "`") {
		i++
	}
	// The path is the shortest that is followed by its closing backtick, white
	// space, and a mark or the end.
	for j := i; j < len(line) && line[j] != '`'; {
		r, n := utf8.DecodeRuneInString(line[j:])
		if pySpace(r) {
			// The whole run at once: were there a place in it where the path may end, it
			// had ended before the run.
			n = skipPySpace(line, j) - j
		}
		j += n
		k := j
		if strings.HasPrefix(line[k:], "`") {
			k++
		}
		if k = skipPySpace(line, k); k == len(line) || literalMark(line[k:]) {
			path = pyStrip(line[i:j])
			return path, path != ""
		}
	}
	return "", false
}

// literalMark reports whether a text begins with a mark that ends a path.
func literalMark(s string) bool { return dashSeparator(s) || s[0] == ':' }
