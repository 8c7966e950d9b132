package ticket

import (
	"strings"
	"unicode/utf8"
)

// relation says which of two groups waits for the other.
type relation int

const (
	relationNone relation = iota
	leftWaits
	rightWaits
	sideBySide
)

// orderWords are the words that put one thing before another, with the side that
// waits, where they stand between the two.
var orderWords = []struct {
	word string
	rel  relation
}{
	{"depends on", leftWaits},
	{"depend on", leftWaits},
	{"depends upon", leftWaits},
	{"requires", leftWaits},
	{"require", leftWaits},
	{"blocked by", leftWaits},
	{"waits for", leftWaits},
	{"wait for", leftWaits},
	{"needs", leftWaits},
	{"after", leftWaits},
	{"follows", leftWaits},
	{"blocks", rightWaits},
	{"block", rightWaits},
	{"blocking", rightWaits},
	{"before", rightWaits},
	{"precedes", rightWaits},
	{"precede", rightWaits},
	{"enables", rightWaits},
	{"unblocks", rightWaits},
	{"then", rightWaits},
	{"→", rightWaits},
	{"->", rightWaits},
	{"=>", rightWaits},
	{"⟶", rightWaits},
	{"➜", rightWaits},
	{"►", rightWaits},
	{"➔", rightWaits},
	{"←", leftWaits},
	{"<-", leftWaits},
	{"parallel", sideBySide},
	{"concurrently", sideBySide},
	{"independent", sideBySide},
	{"alongside", sideBySide},
	{"依赖于", leftWaits},
	{"依赖", leftWaits},
	{"依賴", leftWaits},
	{"需要", leftWaits},
	{"阻塞", rightWaits},
	{"阻止", rightWaits},
	{"阻擋", rightWaits},
	{"先于", rightWaits},
	{"早于", rightWaits},
	{"并行", sideBySide},
	{"並行", sideBySide},
	{"並列", sideBySide},
	{"병렬", sideBySide},
}

// behindWords do the same behind the second of the two, where the verb comes last.
// They are tried in turn: a longer one stands before one it contains.
var behindWords = []struct {
	word string
	rel  relation
}{
	{"に依存", leftWaits},
	{"をブロック", rightWaits},
	{"より前", rightWaits},
	{"の前", rightWaits},
	{"より先", rightWaits},
	{"より後", leftWaits},
	{"の後", leftWaits},
	{"에 의존", leftWaits},
	{"에 종속", leftWaits},
	{"을 차단", rightWaits},
	{"를 차단", rightWaits},
	{"을 블록", rightWaits},
	{"를 블록", rightWaits},
	{"을 막", rightWaits},
	{"를 막", rightWaits},
	{"보다 먼저", rightWaits},
	{"이전에", rightWaits},
	{"전에", rightWaits},
	{"이후에", leftWaits},
	{"다음에", leftWaits},
	{"후에", leftWaits},
	{"之前", rightWaits},
	{"以前", rightWaits},
	{"之后", leftWaits},
	{"之後", leftWaits},
	{"以后", leftWaits},
	{"並列", sideBySide},
	{"병렬", sideBySide},
	{"并行", sideBySide},
}

// relationOf reads the words between and behind two groups. Of several between
// them the last one counts: "all parallel after T004".
func relationOf(between, behind string) relation {
	lower := strings.ToLower(between)
	at, rel := -1, relationNone
	for _, w := range orderWords {
		if i := lastWord(lower, w.word); i > at {
			at, rel = i, w.rel
		}
	}
	if rel != relationNone {
		return rel
	}
	if len(behind) > 120 {
		behind = behind[:120]
	}
	first := len(behind)
	for _, w := range behindWords {
		if i := strings.Index(behind, w.word); i >= 0 && i < first {
			first, rel = i, w.rel
		}
	}
	return rel
}

// lastWord returns where a word stands last in a text, not inside of a longer one.
func lastWord(s, word string) int {
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], word)
		if i < 0 {
			return -1
		}
		if word[0] >= utf8.RuneSelf || !isLetter(word[0]) ||
			(i == 0 || !isLetter(s[i-1])) && (i+len(word) == len(s) || !isLetter(s[i+len(word)])) {
			return i
		}
		end = i + len(word) - 1
	}
}

// statesOrder reports whether a line has a word in it that puts things in order.
func statesOrder(s string) bool {
	lower := strings.ToLower(s)
	for _, w := range orderWords {
		if w.rel != sideBySide && w.word != "then" && w.word != "needs" && lastWord(lower, w.word) >= 0 {
			return true
		}
	}
	for _, w := range behindWords {
		if w.rel != sideBySide && strings.Contains(s, w.word) {
			return true
		}
	}
	return false
}
