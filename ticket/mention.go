package ticket

import (
	"strings"
	"unicode/utf8"
)

// span is a half-open range of a text.
type span struct{ start, end int }

// codeSpans returns the parts of s in backticks, with the backticks.
func codeSpans(s string) []span {
	if strings.IndexByte(s, '`') < 0 {
		return nil
	}
	runs := make([]span, 0, 2)
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		j := i
		for j < len(s) && s[j] == '`' {
			j++
		}
		runs = append(runs, span{i, j})
		i = j
	}
	if len(runs) == 2 && runs[0].end-runs[0].start == runs[1].end-runs[1].start {
		return []span{{runs[0].start, runs[1].end}} // nearly always
	}
	// next[i] is the next run as long as run i; found from behind, so that the
	// whole is linear.
	next := make([]int, len(runs))
	last := map[int]int{}
	for i := len(runs) - 1; i >= 0; i-- {
		n := runs[i].end - runs[i].start
		next[i] = -1
		if j, ok := last[n]; ok {
			next[i] = j
		}
		last[n] = i
	}
	var spans []span
	for i := 0; i < len(runs); i++ {
		if j := next[i]; j >= 0 {
			spans = append(spans, span{runs[i].start, runs[j].end})
			i = j
		}
	}
	return spans
}

// mention is something in a title that is not part of the title.
type mention struct {
	span
	kind    mentionKind
	keyword keyword
	refs    []idRef
	alias   string
	open    bool // the text ended where an id should stand
}

// prose reports whether a keyword was found and no id behind it.
func (m mention) prose() bool { return m.kind == mentionClause && len(m.refs) == 0 }

type mentionKind int

const (
	mentionClause  mentionKind = iota // depends on T001
	mentionMark                       // ⛔ id, [dependsOn:: id]: explicit, not prose
	mentionAlias                      // 🆔 id, [id:: id]
	mentionComment                    // <!-- … -->
)

const (
	markBlocked = "⛔"
	markID      = "🆔"
)

// mentions appends to out everything in a task's text that may be cut from its
// title, in order and without overlap. accept decides which ids count after a
// keyword.
func mentions(out []mention, s string, accept func(idRef) bool) []mention {
	spans := codeSpans(s)
	comments := -1 // place of the last end of a comment
	if strings.IndexByte(s, '<') >= 0 {
		comments = strings.LastIndex(s, "-->")
	}
	for i := 0; i < len(s); {
		if len(spans) > 0 && i >= spans[0].start {
			i = max(i, spans[0].end)
			spans = spans[1:]
			continue
		}
		if !mayMention[s[i]] {
			i++
			continue
		}
		m, ok := mentionAt(s, i, comments, accept)
		if !ok {
			i++
			continue
		}
		out = append(out, m)
		i = max(m.end, i+1)
		for len(spans) > 0 && spans[0].start < i { // ids in backticks were read
			i = max(i, spans[0].end)
			spans = spans[1:]
		}
	}
	return out
}

// mayMention holds the bytes a mention may start with.
var mayMention = func() (t [256]bool) {
	for _, c := range []byte("<[(dDbBrRaA" + markBlocked[:1] + markID[:1]) {
		t[c] = true
	}
	return t
}()

func mentionAt(s string, i, comments int, accept func(idRef) bool) (mention, bool) {
	switch c := s[i]; {
	case c == '<':
		if !strings.HasPrefix(s[i:], "<!--") || i+4 > comments {
			return mention{}, false
		}
		end := i + 4 + strings.Index(s[i+4:], "-->") + 3
		return mention{span: span{i, end}, kind: mentionComment}, true
	case c == '[' || c == '(':
		return field(s, i)
	case c >= utf8.RuneSelf:
		return emojiMark(s, i)
	case isLetter(c) && wordStart(s, i):
		kw, ok := keywordAt(s, i)
		if !ok {
			return mention{}, false
		}
		m := mention{kind: mentionClause, keyword: kw, span: span{i, kw.end}}
		m.refs, m.open = idList(s, kw.end, accept)
		if n := len(m.refs); n > 0 {
			m.end = m.refs[n-1].end
		}
		return m, true
	}
	return mention{}, false
}

// emojiMark reads "⛔ a,b" and "🆔 a".
func emojiMark(s string, i int) (mention, bool) {
	kind, n := mentionMark, 0
	switch {
	case strings.HasPrefix(s[i:], markBlocked):
		n = len(markBlocked)
	case strings.HasPrefix(s[i:], markID):
		kind, n = mentionAlias, len(markID)
	default:
		return mention{}, false
	}
	j := i + n
	if strings.HasPrefix(s[j:], variationSelector) {
		j += len(variationSelector)
	}
	return marked(s, i, j, kind)
}

// marked reads the ids of an explicit notation that starts at i.
func marked(s string, i, ids int, kind mentionKind) (mention, bool) {
	refs, _ := idList(s, ids, nil)
	if len(refs) == 0 {
		return mention{}, false
	}
	m := mention{kind: kind, refs: refs}
	if kind == mentionAlias {
		m.alias, m.refs = refs[0].text, refs[:1]
	}
	m.span = span{i, m.refs[len(m.refs)-1].end}
	return m, true
}

// field reads "[dependsOn:: a, b]" and "[id:: a]", also in round brackets.
func field(s string, i int) (mention, bool) {
	j := skipSpace(s, i+1)
	if j == len(s) || s[j]|0x20 != 'd' && s[j]|0x20 != 'i' {
		return mention{}, false
	}
	kind, ok := mentionMark, false
	for _, key := range []string{"dependson", "depends-on", "depends_on"} {
		if hasPrefixFold(s[j:], key) {
			j, ok = j+len(key), true
			break
		}
	}
	if !ok && hasPrefixFold(s[j:], "id") {
		kind, j, ok = mentionAlias, j+len("id"), true
	}
	j = skipSpace(s, j)
	if !ok || !strings.HasPrefix(s[j:], "::") {
		return mention{}, false
	}
	m, ok := marked(s, i, j+2, kind)
	if !ok {
		return mention{}, false
	}
	closer := byte(']')
	if s[i] == '(' {
		closer = ')'
	}
	end := skipSpace(s, m.end)
	if end >= len(s) || s[end] != closer {
		return mention{}, false
	}
	m.end = end + 1
	return m, true
}
