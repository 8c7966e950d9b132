package ticket

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of an author's label; real ones have up to a dozen letters and four
// numbers.
const (
	maxLabelBytes   = 40
	maxLabelNumbers = 6
)

// label is an author's own id of a task, taken apart: T001 is family "t" with
// the number 1, 1.2 is family "" with the numbers 1 and 2.
type label struct {
	text   string // as written
	family string // lower-case letters and separators before the numbers
	nums   [maxLabelNumbers]int32
	n      int8 // how many numbers there are
	suffix byte // T105b
}

// parseLabel takes a whole token apart. It returns false if it is no label.
func parseLabel(s string) (label, bool) {
	if s == "" || len(s) > maxLabelBytes {
		return label{}, false
	}
	i := 0
	for i < len(s) && (isLetter(s[i]) || i > 0 && (s[i] == '-' || s[i] == '_')) {
		i++
	}
	l := label{text: s, family: fold(s[:i])}
	for {
		n, digits := int32(0), 0
		for i < len(s) && isDigit(s[i]) {
			if digits++; digits > 9 {
				return label{}, false // no number of a task; would overflow
			}
			n = n*10 + int32(s[i]-'0')
			i++
		}
		if digits == 0 || l.n == maxLabelNumbers {
			return label{}, false
		}
		l.nums[l.n] = n
		l.n++
		if i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
			i++
			continue
		}
		break
	}
	if l.family != "" && i == len(s)-1 && s[i] >= 'a' && s[i] <= 'z' {
		l.suffix = s[i]
		i++
	}
	return l, i == len(s)
}

func (l label) compare(m label) int {
	return cmp.Or(slices.Compare(l.nums[:l.n], m.nums[:m.n]), cmp.Compare(l.suffix, m.suffix))
}

// padded reports whether the number is written with a leading zero, which nobody
// does but for numbering.
func (l label) padded() bool {
	digits := l.text[len(l.family):]
	return len(digits) > 1 && digits[0] == '0'
}

// leading is the label at the start of a task's text.
type leading struct {
	label
	// sure: it cannot be a word of the text, as S3 or UTF-8 could.
	sure bool
	// plain: a bare number, as lists in several sections number their items.
	plain bool
}

// leadingLabel finds the label at the start of a text: bare, bold, in brackets or
// backticks, with a point or colon behind it, after "Task" or "Step".
func leadingLabel(s string) (leading, bool) {
	i, bold, bracket := 0, false, false
	for i < len(s) && strings.IndexByte("*_`[(", s[i]) >= 0 {
		bold = bold || s[i] == '*' || s[i] == '_'
		bracket = bracket || s[i] == '[' || s[i] == '('
		if i++; i > 4 {
			return leading{}, false
		}
	}
	word := false
	for _, w := range []string{"task ", "step "} {
		if hasPrefixFold(s[i:], w) {
			i += len(w)
			word = true
		}
	}
	end := i
	for end < len(s) && (isLetter(s[end]) || isDigit(s[end]) || strings.IndexByte("._-", s[end]) >= 0) {
		end++
	}
	token := strings.TrimRight(s[i:end], "._-")
	l, ok := parseLabel(token)
	if !ok {
		return leading{}, false
	}
	i += len(token)
	stop := false
	for i < len(s) && strings.IndexByte("*_`]).:", s[i]) >= 0 {
		stop = stop || s[i] == '.' || s[i] == ':' || s[i] == ')' && !bracket
		i++
	}
	if r, _ := utf8.DecodeRuneInString(s[i:]); i < len(s) && !unicode.IsSpace(r) {
		return leading{}, false
	}
	if word && !stop {
		rest := strings.TrimLeft(s[i:], " \t")
		if rest != "" && !strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "–") && !strings.HasPrefix(rest, "—") {
			return leading{}, false
		}
		stop = true
	}
	r := leading{label: l, plain: l.family == "" && l.n == 1}
	if r.plain && !stop && !bold && !bracket {
		return leading{}, false // "3 apples"
	}
	r.sure = stop || bold || l.padded() || l.family == "" && l.n > 1
	return r, true
}

// fold returns the key under which ids are compared: lower case.
func fold(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			return strings.ToLower(s)
		}
	}
	return s
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// hasPrefixFold reports whether s begins with an ASCII prefix given in lower case.
func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}
