package ticket

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutTitle returns s without the given parts, and without what is left dangling
// where they stood: brackets and emphasis around them, a comma, dash or "and"
// before the end, doubled white space. A text of which nothing is cut stays as it
// is.
func cutTitle(s string, cuts []span) string {
	if len(cuts) == 0 {
		return s
	}
	out, from := "", 0
	for i := 0; i <= len(cuts); i++ {
		to := len(s)
		if i < len(cuts) {
			to = cuts[i].start
		}
		piece := s[from:to]
		if i == 0 {
			out = piece
		} else {
			out = join(out, piece)
		}
		if i < len(cuts) {
			from = cuts[i].end
		}
	}
	if strings.TrimFunc(s[from:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) == "" {
		out = dropDangling(out)
	}
	return strings.TrimSpace(out)
}

var closers = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// join puts two pieces together over a part that was cut out between them.
func join(left, right string) string {
	// Emphasis and brackets that held nothing else.
	for {
		l, r := strings.TrimRight(left, " \t"), strings.TrimLeft(right, " \t")
		if l == "" || r == "" {
			break
		}
		c := l[len(l)-1]
		switch {
		case closers[c] != 0:
			r = strings.TrimLeft(r, " \t,;:&+-–—")
			if r != "" && r[0] == closers[c] {
				left, right = l[:len(l)-1], r[1:]
				continue
			}
			return l + r // "(, tests)" becomes "(tests)"
		case (c == '*' || c == '_') && left == l && right == r && r[0] == c && (len(l) == 1 || !isLetter(l[len(l)-2])):
			left, right = l[:len(l)-1], r[1:]
			continue
		}
		break
	}
	left = strings.TrimRightFunc(left, unicode.IsSpace)
	right = strings.TrimLeftFunc(right, unicode.IsSpace)
	if left == "" {
		right = strings.TrimLeftFunc(right, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(",;:.–—-&+", r)
		})
		return trimWord(right, true)
	}
	if right == "" {
		return left
	}
	switch c := right[0]; {
	case c == ')' || c == ']' || c == '}':
		return dropDangling(left) + right
	case strings.IndexByte(".,;:!?", c) >= 0:
		if strings.IndexByte(",;:.", left[len(left)-1]) >= 0 {
			right = strings.TrimLeft(right[1:], " \t")
			if right == "" {
				return left
			}
			return left + " " + right
		}
		return left + right
	}
	return left + " " + right
}

// danglingWords lead to a clause and mean nothing without it.
var danglingWords = []string{"and", "but", "which", "then"}

// dropDangling removes from the end what only led to a part that is gone.
func dropDangling(s string) string {
	for {
		t := strings.TrimRightFunc(s, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(",;:–—-&+", r)
		})
		t = trimWord(t, false)
		for _, open := range []string{"(", "["} {
			if strings.HasSuffix(t, open) {
				t = t[:len(t)-1]
			}
		}
		if t == s {
			return s
		}
		s = t
	}
}

// trimWord removes a dangling word from the start or the end.
func trimWord(s string, atStart bool) string {
	for _, w := range danglingWords {
		if len(s) <= len(w) {
			continue
		}
		if atStart {
			if hasPrefixFold(s, w) && s[len(w)] == ' ' {
				return strings.TrimLeft(s[len(w):], " ")
			}
			continue
		}
		at := len(s) - len(w)
		if strings.EqualFold(s[at:], w) {
			if r, _ := utf8.DecodeLastRuneInString(s[:at]); unicode.IsSpace(r) || strings.ContainsRune(",;(", r) {
				return strings.TrimRightFunc(s[:at], unicode.IsSpace)
			}
		}
	}
	return s
}

// doneWords may follow an id in a clause ("after T001 is done") and go with it.
var doneWords = []string{
	"is done", "is complete", "is completed", "is finished", "is merged", "is ready", "has landed", "being complete", "being done",
	"are done", "are complete", "are completed", "are finished", "are merged", "are ready", "have landed",
	"completes", "finishes", "is in place", "are in place",
}

// backOverIs moves the start of "blocked by" over "is" and "are".
func backOverIs(s string, start int) int {
	t := strings.TrimRight(s[:start], " \t")
	for _, w := range []string{"is", "are"} {
		if at := len(t) - len(w); at > 0 && strings.EqualFold(t[at:], w) && (t[at-1] == ' ' || t[at-1] == '(') {
			return at
		}
	}
	return start
}

// throughDoneWords extends the end of a clause over words that say no more than
// that its ids are done.
func throughDoneWords(s string, end int) int {
	i := skipSpace(s, end)
	if i == len(s) || strings.IndexByte("iIaAhHbBcCfF", s[i]) < 0 {
		return end
	}
	for _, w := range doneWords {
		if hasPrefixFold(s[i:], w) {
			j := i + len(w)
			if j == len(s) || strings.IndexByte(" \t,.;:)]", s[j]) >= 0 {
				return j
			}
		}
	}
	return end
}
