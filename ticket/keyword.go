package ticket

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyword is a word that may state a dependency.
type keyword struct {
	word       int
	start, end int // end: behind colon and emphasis
	colon      bool
}

// The keywords.
const (
	wordDepends   = iota // "depends on", and with a colon "depends", "dependencies", "deps"
	wordBlockedBy        // "blocked by"
	wordRequires         // "requires"
	wordAfter            // "after"
	wordBlocks           // "blocks": the wrong way round, never read
)

var keywords = []struct {
	first, second string
	word          int
	needsColon    bool
}{
	{"depends", "on", wordDepends, false},
	{"depends", "", wordDepends, true},
	{"dependencies", "", wordDepends, true},
	{"dependency", "", wordDepends, true},
	{"deps", "", wordDepends, true},
	{"blocked", "by", wordBlockedBy, false},
	{"requires", "", wordRequires, false},
	{"after", "", wordAfter, false},
	{"blocks", "", wordBlocks, false},
}

// keywordAt reads a keyword at s[i:], which has to be the start of a word.
func keywordAt(s string, i int) (keyword, bool) {
	if i >= len(s) || strings.IndexByte("dDbBrRaA", s[i]) < 0 {
		return keyword{}, false
	}
	for _, k := range keywords {
		if !hasPrefixFold(s[i:], k.first) {
			continue
		}
		j := i + len(k.first)
		if k.second != "" {
			gap := j
			for j < len(s) && strings.IndexByte(" \t-_", s[j]) >= 0 {
				j++
			}
			if j == gap || !hasPrefixFold(s[j:], k.second) {
				continue
			}
			j += len(k.second)
		}
		kw := keyword{word: k.word, start: i}
		emph := j
		for j < len(s) && (s[j] == '*' || s[j] == '_') {
			j++
		}
		switch {
		case strings.HasPrefix(s[j:], ":"):
			kw.colon = true
			j++
		case strings.HasPrefix(s[j:], "："):
			kw.colon = true
			j += len("：")
		}
		if !kw.colon && k.needsColon {
			continue
		}
		if kw.colon {
			for j < len(s) && (s[j] == '*' || s[j] == '_') && emph > i {
				// "**Depends on:** T1", but not "depends on:*T1*"
				if j+1 < len(s) && (isLetter(s[j+1]) || isDigit(s[j+1])) {
					break
				}
				j++
			}
		} else if j < len(s) && s[j] != ' ' && s[j] != '\t' {
			continue
		}
		kw.end = j
		return kw, true
	}
	return keyword{}, false
}

// wordStart reports whether a word may start at s[i].
func wordStart(s string, i int) bool {
	if i == 0 {
		return true
	}
	c := s[i-1]
	if c == '_' || c == '-' {
		return i == 1 || !isLetter(s[i-2]) && !isDigit(s[i-2])
	}
	if c < utf8.RuneSelf {
		return !isLetter(c) && !isDigit(c)
	}
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
