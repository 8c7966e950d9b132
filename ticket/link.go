package ticket

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// linker turns the words of dependencies into tasks.
type linker struct {
	*reader
	x     *labelIndex
	outer map[string]bool // ids of other tickets this one depends on
	refs  int             // resolved so far
	found []mention       // of the title at hand; kept to save allocations
}

// link reads titles, labels, dependencies and notes of all tasks.
func (r *reader) link() {
	l := &linker{reader: r, x: r.newLabelIndex(), outer: map[string]bool{}}
	for _, id := range r.t.DependsOn {
		l.outer[fold(id)] = true
	}
	for _, id := range r.siblings {
		l.outer[fold(id)] = true
	}
	pending := make([][]written, len(r.t.Tasks))
	for i := range r.t.Tasks {
		pending[i] = l.title(i)
		pending[i] = append(pending[i], l.notes(i)...)
		t := &r.t.Tasks[i]
		t.ID = nodeID(t.Index, t.Title)
	}
	for i := range pending { // ids of all nodes are known now
		if n := len(pending[i]); n > 0 {
			r.t.Tasks[i].DependsOn = make([]Ref, 0, n)
		}
		for _, w := range pending[i] {
			l.resolve(i, w)
		}
	}
	r.format.arrange(l)
	r.reportDuplicates(l.x)
	r.reportStates()
}

// written is a dependency as it stands in the text.
type written struct {
	idRef
	line, column int
	explicit     bool // nothing else can be meant: ⛔ id, "Depends on: id"
}

// accept decides whether a word behind a keyword is meant as an id. In prose a
// number is one only if it is known here and nothing follows that it could count.
func (l *linker) accept(s string, explicit bool) func(idRef) bool {
	return func(ref idRef) bool {
		if ref.tag || ref.loose {
			return l.ours(s, ref, explicit)
		}
		if ref.ends != nil && ref.ends.from.family == "" {
			return explicit || l.acceptNumbers(s, ref)
		}
		if ref.text[0] == '#' || ref.ends != nil {
			return true
		}
		if l.x.knows(ref.text) || len(l.outer) > 0 && l.outer[fold(ref.text)] {
			return true
		}
		if number, dotted := isNumber(ref.text); number {
			if explicit {
				return true
			}
			return endsClause(s, ref.end) && (dotted || l.x.nth(ref.text) > 0)
		}
		return looksLikeID(ref.text)
	}
}

// ours decides about a word that nothing marks as an id but its place: it has to be
// known here, or look like the labels that are.
func (l *linker) ours(s string, ref idRef, explicit bool) bool {
	if ref.ends != nil {
		_, ends := l.x.between(ref.ends.from, ref.ends.to)
		return ends
	}
	number, _ := isNumber(ref.text)
	if l.x.knows(ref.text) {
		return explicit || !number || endsClause(s, ref.end)
	}
	if number {
		return explicit && l.x.nth(ref.text) > 0
	}
	if l.outer[fold(ref.text)] {
		return true
	}
	if n, _, ok := nodeRef(fold(ref.text)); ok && n >= 1 && n <= len(l.t.Tasks) {
		return true
	}
	lab, ok := parseLabel(ref.text)
	return ok && l.isFamily(lab)
}

// acceptNumbers decides about a range of numbers in prose: "after 1.1-1.4" where
// these are labels, "after 2-4" where nothing is labelled, not "after 2-3 days".
// A range of which one end is there, or that is of two numbers where labels are,
// is meant as one, too; that the other end is missing is an error later.
func (l *linker) acceptNumbers(s string, ref idRef) bool {
	from, to := ref.ends.from, ref.ends.to
	if _, ends := l.x.between(from, to); ends {
		return true
	}
	if !endsClause(s, ref.end) {
		return false
	}
	if l.x.families[""] != nil && (l.x.knows(from.text) || l.x.knows(to.text) || from.n > 1 && !ref.ends.reversed && l.x.dotted(from.n)) {
		return true
	}
	return l.x.numbered && to.n == 1 && int(to.nums[0]) <= l.x.size
}

// dotted reports whether labels of that many numbers and no letters are there.
func (x *labelIndex) dotted(n int8) bool {
	return slices.ContainsFunc(x.families[""].items, func(f familyItem) bool { return f.n == n })
}

// nth returns the task that a plain number means where nothing is labelled.
func (x *labelIndex) nth(number string) int {
	n, err := strconv.Atoi(number)
	if err != nil || !x.numbered || n < 1 || n > x.size {
		return 0
	}
	return n
}

// endsClause reports whether a clause may end at s[i:].
func endsClause(s string, i int) bool {
	i = skipSpace(s, i)
	if i == len(s) || strings.IndexByte(".,;:)]}*_&", s[i]) >= 0 {
		return true
	}
	_, sep := separator(s, i)
	return sep || dashSeparator(s[i:]) || endsInNumber(s, i)
}

// endsInNumber reports whether "or 2" follows and ends the clause.
func endsInNumber(s string, i int) bool {
	for range 8 { // nobody lists more that way
		next, ok := alternative(s, i)
		if !ok {
			return false
		}
		ref, ok := oneID(s, skipSpace(s, next))
		if number, _ := isNumber(ref.text); !ok || !number {
			return false
		}
		i = skipSpace(s, ref.end)
		if i == len(s) || strings.IndexByte(".,;:)]}*_&", s[i]) >= 0 || dashSeparator(s[i:]) {
			return true
		}
	}
	return false
}

// title sets the title of the i-th task and returns the dependencies stated in it.
func (l *linker) title(i int) (deps []written) {
	t, raw := &l.t.Tasks[i], &l.raws[i]
	text := raw.text
	found := l.found[:0]
	for {
		found = mentions(found[:0], text, l.accept(text, false))
		// A clause that runs over the end of the line goes on in the next.
		if n := len(found); n == 0 || len(raw.notes) == 0 || !raw.notes[0].continues || len(text) > 4096 ||
			!found[n-1].open && !l.goesOn(text, found[n-1], raw.notes[0].text) {
			break
		}
		text += " " + raw.notes[0].text
		raw.notes = raw.notes[1:]
	}
	l.found = found
	tags := l.format.tags(t, text)
	if len(found)+len(tags) == 0 {
		t.Title = text
		return nil
	}
	line, column := l.src.at(raw.offset)
	var cuts []span
	for k, m := range found {
		switch {
		case m.kind == mentionClause && m.keyword.word != wordBlocks && negated(text, m.start):
			l.negationNote(text, m, line, column)
			continue
		case m.prose() && l.opensList(text, m, raw):
			raw.opened = true
		case m.prose():
			l.proseNote(text, m, line, column)
			continue
		case m.kind == mentionClause && m.keyword.word == wordBlocks:
			l.wrongWay(m, line, column)
			continue
		case m.kind == mentionClause:
			m.end = throughDoneWords(text, m.end)
			until := len(text)
			if k+1 < len(found) {
				until = found[k+1].start
			}
			l.leftBehind(text[min(m.end, until):until], m, line, column)
			if m.keyword.word == wordBlockedBy {
				m.start = backOverIs(text, m.start)
			}
			fallthrough
		case m.kind == mentionMark:
			deps = slices.Grow(deps, len(m.refs))
			for _, ref := range m.refs {
				l.passedOver(text, ref, line, column)
				deps = append(deps, written{ref, line, column + min(ref.start, len(raw.text)), m.kind == mentionMark})
			}
		}
		cuts = append(cuts, m.span)
	}
	if t.Title = cutTitle(text, merged(cuts, tags)); t.Title == "" {
		t.Title = text
		l.rep.warn(t.Line, t.Column, finding{
			summary: "the task says what it waits for and not what is to be done",
			hint:    "put the work before the dependency",
		})
	}
	return deps
}

// proseNote tells that a keyword was read as a word of the title.
func (l *linker) proseNote(text string, m mention, line, column int) {
	rest := strings.TrimSpace(text[m.end:])
	if rest == "" || m.keyword.word == wordBlocks {
		return
	}
	if l.rep.full() {
		l.rep.note(line, column, finding{}) // counted only
		return
	}
	sev := fault.SeverityNote
	if m.keyword.colon && m.keyword.word <= wordBlockedBy && !hasPrefixFold(text[m.start:], "dependenc") && !saysNone(strings.Trim(rest, "*_ .)]")) ||
		m.keyword.word <= wordRequires && l.namesTask(wordsBehind(rest)) {
		sev = fault.SeverityWarning // nothing but a dependency can be meant
	}
	l.rep.add(sev, line, column+min(m.start, len(text)), finding{
		summary: fmt.Sprintf("%q is read as words, not as a dependency", clip(text[m.start:])),
		detail:  "no id follows: none of this ticket, and nothing with a digit, hyphen, underscore or point in it",
		hint:    "for a dependency name a task: `depends on T001`",
	})
}

func (l *linker) wrongWay(m mention, line, column int) {
	ref := m.refs[0].text
	l.rep.warn(line, column+m.start, finding{
		summary: fmt.Sprintf("%q is not read as a dependency", "blocks "+ref),
		detail:  "dependencies have one direction: a task names what it waits for",
		hint:    fmt.Sprintf("write `depends on …` at %s", ref),
	})
}

// merged puts the spans of two lists in order and drops what overlaps.
func merged(a, b []span) []span {
	if len(b) == 0 {
		return a
	}
	all := append(slices.Clip(a), b...)
	slices.SortFunc(all, func(x, y span) int { return x.start - y.start })
	kept := all[:0]
	for _, s := range all {
		if n := len(kept); n == 0 || s.start >= kept[n-1].end {
			kept = append(kept, s)
		}
	}
	return kept
}
