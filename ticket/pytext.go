package ticket

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The literal grammar is written down in Python's regular expressions. These are
// its classes of characters, which are neither RE2's nor Go's.

// pySpace reports whether \s matches a character: str.isspace, which has the
// four separators of ASCII besides what Go calls white space.
func pySpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// pyWord reports whether \w matches a character: str.isalnum, or an underscore.
func pyWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// pyFold returns the ASCII letter in lower case that a character is equal to when
// case is ignored; four characters outside of ASCII are.
func pyFold(r rune) rune {
	switch {
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	case r == '\u0130' || r == '\u0131': // I with a dot, i without one
		return 'i'
	case r == '\u017f': // long s
		return 's'
	case r == '\u212a': // Kelvin sign
		return 'k'
	}
	return r
}

// pyStrip is str.strip.
func pyStrip(s string) string { return strings.TrimFunc(s, pySpace) }

// pyLower is str.lower: a capital I with a dot becomes two characters, and a
// capital sigma at the end of a word the sigma that is written there.
func pyLower(s string) string {
	if !strings.ContainsAny(s, "\u0130\u03a3") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '\u0130':
			b.WriteString("i\u0307")
		case '\u03a3':
			if endsWord(s[:i], s[i+len("\u03a3"):]) {
				b.WriteRune('\u03c2')
			} else {
				b.WriteRune('\u03c3')
			}
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// endsWord reports whether a letter between two texts is the last of its word:
// a cased letter comes before it and none after it, marks aside.
func endsWord(before, after string) bool {
	cased := func(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }
	aside := func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:\u00b7\u2018\u2019\u2024\u2027", r)
	}
	b, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(before, aside))
	a, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, aside))
	return cased(b) && !cased(a)
}

// skipPySpace returns the place behind the white space at s[i:].
func skipPySpace(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !pySpace(r) {
			break
		}
		i += n
	}
	return i
}
