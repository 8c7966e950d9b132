package ticket

import (
	"fmt"
	"strings"
)

// negations are words before a keyword that turn it round.
var negations = []string{"no longer", "not", "never", "cannot", "n't", "n’t", "neither", "nor", "no more"}

// negated reports whether what stands before a keyword says that the dependency is
// none: "no longer requires", "is not blocked by".
func negated(s string, start int) bool {
	t := strings.TrimRight(s[max(0, start-60):start], " \t*_")
	for range 4 { // "is not yet directly blocked by"
		for _, w := range negations {
			at := len(t) - len(w)
			if at < 0 || !strings.EqualFold(t[at:], w) {
				continue
			}
			if at == 0 || w[0] == 'n' && w[1] != 'o' && w[1] != 'e' || !isLetter(t[at-1]) && !isDigit(t[at-1]) {
				return true
			}
		}
		cut := strings.LastIndexAny(t, " \t")
		switch strings.ToLower(t[cut+1:]) {
		case "is", "are", "be", "been", "being", "yet", "directly", "really", "strictly", "longer", "anymore", "still":
			t = strings.TrimRight(t[:max(cut, 0)], " \t*_")
		default:
			return false
		}
	}
	return false
}

// negationNote tells that a keyword was not read because it is negated.
func (l *linker) negationNote(text string, m mention, line, column int) {
	if len(m.refs) == 0 {
		return
	}
	l.rep.note(line, column+min(m.start, len(text)), finding{
		summary: fmt.Sprintf("%q is negated and so no dependency", clip(text[m.start:m.end])),
		hint:    "if the step has to wait, write `depends on " + clip(m.refs[0].text) + "`",
	})
}

// goesOn reports whether a clause that ends the line goes on in the next one:
// "depends on T1", and below it "and T3".
func (l *linker) goesOn(text string, m mention, next string) bool {
	if m.kind != mentionClause || len(m.refs) == 0 || skipSpace(text, m.end) != len(text) {
		return false
	}
	return len(l.idsOf(next, false)) > 0
}

// wrapped reads a line that goes on with the ids of the line before.
func (l *linker) wrapped(n noteLine) (deps []written) {
	refs := l.idsOf(n.text, true)
	if len(refs) == 0 || strings.Trim(n.text[throughDoneWords(n.text, refs[len(refs)-1].end):], "*_ \t.,;()") != "" {
		return nil
	}
	line, column := l.src.at(n.offset)
	for _, ref := range refs {
		deps = append(deps, written{ref, line, column + ref.start, true})
	}
	return deps
}

// idsOf reads a line that begins with a separator and ids, or with ids that this
// ticket knows.
func (l *linker) idsOf(s string, explicit bool) []idRef {
	from, sep := separator(" "+s, 0) // "and" has to stand behind a blank
	if !sep {
		from, sep = alternative(" "+s, 0)
	}
	accept := l.accept(s, explicit)
	refs, _ := idList(s, max(from-1, 0), func(r idRef) bool {
		r.loose = r.loose || !sep
		return accept(r)
	})
	return refs
}

// endsOpen reports whether a line ends in words that state a dependency and names
// nothing: a list below it does.
func endsOpen(s string) bool {
	s = strings.TrimRight(s, " \t*_")
	for i := max(0, len(s)-20); i < len(s); i++ {
		if !isLetter(s[i]) || !wordStart(s, i) {
			continue
		}
		if k, ok := keywordAt(s, i); ok && k.end == len(s) && k.word != wordBlocks {
			return k.colon || k.word == wordDepends || k.word == wordBlockedBy
		}
	}
	return false
}

// opensList reports whether a clause without ids ends the title and a list stands
// below it.
func (l *linker) opensList(text string, m mention, raw *rawTask) bool {
	return strings.Trim(text[m.end:], " \t*_") == "" && len(raw.notes) > 0 && raw.notes[0].listed
}

// passedOver warns of a remark between ids that names a task of this ticket.
func (l *linker) passedOver(s string, ref idRef, line, column int) {
	if ref.passed.end == 0 || !l.namesTask(s[ref.passed.start+1:ref.passed.end-1]) {
		return
	}
	l.rep.warn(line, column+min(ref.passed.start, len(s)), finding{
		summary: fmt.Sprintf("%q behind an id names a task and is not read as a dependency", clip(s[ref.passed.start:ref.passed.end])),
		hint:    "name all ids in one list: `depends on T001, T002`",
	})
}

// nearby is how many bytes behind a clause are looked at for tasks that it may name,
// too: a few words.
const nearby = 40

// wordsBehind returns the words behind a clause that may still belong to it.
func wordsBehind(rest string) string {
	rest = cutText(rest, nearby)
	for _, end := range []string{". ", markID, markBlocked, "::"} {
		rest, _, _ = strings.Cut(rest, end)
	}
	return rest
}

// leftBehind warns where a task is named right behind the ids of a clause, in words
// that are not read: "depends on T1 as well as T2".
func (l *linker) leftBehind(rest string, m mention, line, column int) {
	if m.keyword.word == wordAfter {
		return // "after T1, wire it to T2": the work follows
	}
	rest = wordsBehind(rest)
	if !l.namesTask(rest) {
		return
	}
	l.rep.warn(line, column+m.end, finding{
		summary: fmt.Sprintf("%q behind the ids names a task and is not read as a dependency", clip(rest)),
		hint:    "name all ids in one list: `depends on T001, T002`",
	})
}

// namesTask reports whether a word of a text is the label of a task here; numbers
// alone are not looked at.
func (l *linker) namesTask(s string) bool {
	if len(s) > 4096 {
		s = s[:4096]
	}
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r > 127 || !inID[byte(r)] }) {
		w = strings.Trim(w, "._-")
		if number, dotted := isNumber(w); w != "" && (!number || dotted) && l.x.knows(w) {
			return true
		}
	}
	return false
}
