package ticket

import (
	"fmt"
	"slices"
	"strings"
)

// dependencyHeadings are words by which a heading says that the order of tasks is
// stated below it.
var dependencyHeadings = []string{"dependenc", "依存", "依赖", "依賴", "相依", "의존", "종속"}

// dependencySections reads the lines about tasks under headings such as
// "Dependencies & Execution Order".
func (l *linker) dependencySections() {
	d := dependencyReader{linker: l}
	for k, h := range l.heads {
		if !containsAny(strings.ToLower(h.title), dependencyHeadings) || d.upTo > h.line {
			continue
		}
		end := len(l.src.lines)
		for _, next := range l.heads[k+1:] {
			if next.level <= h.level {
				end = next.line - 1
				break
			}
		}
		for n := h.line + 1; n <= end; n++ {
			d.line(n, string(l.src.line(n)))
		}
		d.upTo = end
	}
	d.report()
}

// dependencyReader collects what the lines of such a section state.
type dependencyReader struct {
	*linker
	upTo      int
	unread    []int // lines that state an order that was not understood
	satisfied []int // lines about stories and phases that hold as the file stands
	against   []int // those that do not
	unknown   []int // lines that name a task which is not there

	stories, phases map[string]*extent // by number; nil = not collected yet
	named           int                // tasks that lines stood for so far
}

func (d *dependencyReader) line(n int, s string) {
	if len(s) > 4096 || d.named > MaxEdges || d.refs > MaxEdges || boxLike([]byte(s)) || strings.HasPrefix(strings.TrimSpace(s), "#") {
		return
	}
	groups, missing := d.groups(s)
	if missing && statesOrder(s) {
		d.unknown = append(d.unknown, n)
	}
	if len(groups) < 2 {
		if len(groups) == 1 && !groups[0].wide && statesOrder(s) {
			d.unread = append(d.unread, n)
		}
		return
	}
	read, last := false, relationNone
	left := groups[0]
	for k := 1; k < len(groups); k++ {
		right := groups[k]
		between, behind := s[groups[k-1].end:right.start], s[right.end:]
		if k+1 < len(groups) {
			behind = s[right.end:groups[k+1].start]
		}
		rel := relationOf(between, behind)
		switch {
		case rel == relationNone && last != relationNone && apposed(between):
			rel = last // "US2 depends on US1 (T010)": T010 is part of what US2 waits for
		case rel == relationNone:
			left, last = right, rel
			continue
		default:
			left = groups[k-1]
		}
		last = rel
		switch rel {
		case leftWaits:
			d.state(n, left, right)
		case rightWaits:
			d.state(n, right, left)
		case relationNone, sideBySide: // nothing waits
		}
		read = true
	}
	if !read && statesOrder(s) && slices.ContainsFunc(groups, func(g group) bool { return !g.wide }) {
		d.unread = append(d.unread, n)
	}
}

// state makes the tasks of one group wait for those of another. Of stories and
// phases it is only checked that they stand in that order: the file's order rules.
func (d *dependencyReader) state(n int, then, first group) {
	if then.first == 0 || first.first == 0 {
		return
	}
	if then.wide || first.wide || len(then.tasks)*len(first.tasks) > maxFan*maxFan {
		if first.last < then.first {
			d.satisfied = append(d.satisfied, n)
		} else {
			d.against = append(d.against, n)
		}
		return
	}
	for _, i := range then.tasks {
		if slices.Contains(first.tasks, i) {
			d.unread = append(d.unread, n) // a task before itself: something else is meant
			return
		}
	}
	why := Reason{Kind: ReasonDeclared, Line: n}
	d.t.Sequences = append(d.t.Sequences, Sequence{Declared: true, Batches: []Batch{{Tasks: first.tasks}, {Tasks: then.tasks, Why: why}}})
	d.refs += len(first.tasks) * len(then.tasks)
}

func (d *dependencyReader) report() {
	notes := func(lines []int, f finding) {
		if lines = slices.Compact(lines); len(lines) > 0 {
			f.summary = fmt.Sprintf(f.summary, count(len(lines), "line"))
			f.detail = lineList(lines)
			d.rep.note(lines[0], 0, f)
		}
	}
	notes(d.satisfied, finding{summary: "%s about stories and phases: the file has them in that order, and so they run"})
	notes(d.unread, finding{
		summary: "%s about the order of tasks not understood", hint: "write `T010 depends on T008, T009`, or `T008 before T010`",
	})
	warns := func(lines []int, f finding) {
		if lines = slices.Compact(lines); len(lines) > 0 {
			f.summary = fmt.Sprintf(f.summary, count(len(lines), "line"))
			f.detail = lineList(lines)
			d.rep.warn(lines[0], 0, f)
		}
	}
	warns(d.against, finding{
		summary: "%s against the order of the file: phases run as they stand in it", hint: "move the phase, or name tasks: `T010 depends on T020`",
	})
	warns(d.unknown, finding{summary: "%s about a task that is not in the file"})
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
