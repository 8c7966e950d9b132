package ticket

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// resolve adds what a written dependency means to the i-th task: a task, a range
// of tasks, or an external id. What looks as if it were of this ticket and is not
// there is an error.
func (l *linker) resolve(i int, w written) {
	t := &l.t.Tasks[i]
	if l.refs >= MaxEdges {
		if l.refs == MaxEdges {
			l.refs++
			l.rep.err(w.line, w.column, tooManyEdges())
		}
		return
	}
	if w.ends != nil && !l.vary.foreignIDs {
		if before := l.rep.errors; l.resolveRange(t, w) {
			if w.ends.reversed && l.rep.errors == before {
				l.rep.warn(w.line, w.column, finding{
					summary: fmt.Sprintf("range %q is written backwards; read as %s-%s", clip(w.text), w.ends.from.text, w.ends.to.text),
					hint:    "write the lower end first",
				})
			}
			return
		}
	}
	task, f := l.lookup(w)
	switch {
	case f.code != "" && l.vary.foreignIDs && len(l.x.several[fold(w.text)]) == 0:
		l.rep.note(w.line, w.column, l.external(w.text))
	case f.code != "":
		l.rep.err(w.line, w.column, f)
		return
	case f.summary != "":
		l.rep.note(w.line, w.column, f)
	}
	l.add(t, w, task)
}

func (l *linker) add(t *Task, w written, task int) {
	l.refs++
	t.DependsOn = append(t.DependsOn, Ref{Written: w.text, Task: task, Line: w.line, Column: w.column})
}

// resolveRange adds every task of a range. It reports false if nothing of this
// ticket has labels of that family: then it is one external id.
func (l *linker) resolveRange(t *Task, w written) bool {
	key := fold(w.text)
	from, to := w.ends.from, w.ends.to
	if l.x.knows(w.text) {
		return false // somebody's label is spelled like a range
	}
	if n, _, ok := nodeRef(key); ok && n >= 1 && n <= len(l.t.Tasks) && l.t.Tasks[n-1].ID == key {
		return false // so is a node's id
	}
	if from.family == "" && from.n == 1 && l.x.numbered && int(to.nums[0]) <= l.x.size && from.nums[0] > 0 {
		for n := int(from.nums[0]); n <= int(to.nums[0]) && l.refs <= MaxEdges; n++ {
			l.add(t, w, n)
		}
		return true
	}
	if from.family == "n" && l.x.families["n"] == nil && from.n == 1 {
		return l.resolveNodeRange(t, w)
	}
	if l.x.families[from.family] == nil {
		return false
	}
	tasks, ends := l.x.between(from, to)
	if !ends {
		if l.outer[key] {
			return false
		}
		l.rep.err(w.line, w.column, finding{
			summary: fmt.Sprintf("range %q: no task carries the label at one of its ends", clip(w.text)),
			hint:    "name labels that stand before tasks of this ticket",
		})
		return true
	}
	for _, n := range tasks {
		if l.refs > MaxEdges {
			break
		}
		l.add(t, w, n)
	}
	return true
}

func (l *linker) resolveNodeRange(t *Task, w written) bool {
	from, to := int(w.ends.from.nums[0]), int(w.ends.to.nums[0])
	if from < 1 || to > l.x.size {
		l.rep.err(w.line, w.column, l.noTask(w.text))
		return true
	}
	for n := from; n <= to && l.refs <= MaxEdges; n++ {
		l.add(t, w, n)
	}
	return true
}

// lookup finds the task one id means; 0 with a note for an external id that
// nothing announced, 0 with an error (a code) for one that must be here.
func (l *linker) lookup(w written) (int, finding) {
	id := w.text
	if n, _ := l.x.find(id); n > 0 {
		return n, finding{}
	}
	key := fold(id)
	if tasks := l.x.several[key]; len(tasks) > 0 {
		l.x.used[key] = true
		var lines []int
		for _, n := range tasks {
			lines = append(lines, l.t.Tasks[n-1].Line)
		}
		return 0, finding{
			code: fault.Invalid, summary: fmt.Sprintf("%q stands before %d tasks", clip(id), len(tasks)), detail: lineList(lines),
			hint: "give each task a label of its own",
		}
	}
	if l.outer[key] {
		return 0, finding{}
	}
	if n, slug, ok := nodeRef(key); ok {
		switch {
		case n >= 1 && n <= len(l.t.Tasks) && (slug == "" || l.t.Tasks[n-1].ID == key):
			return n, finding{}
		case n >= 1 && n <= len(l.t.Tasks):
			f := l.noTask(id)
			f.detail = fmt.Sprintf("node %d is %s now", n, l.t.Tasks[n-1].ID)
			return 0, f
		}
		return 0, l.noTask(id)
	}
	bare := strings.TrimPrefix(key, "#")
	if n := l.x.nth(bare); n > 0 {
		return n, finding{}
	}
	number, _ := isNumber(bare)
	if bare != key && number { // "#12": an issue somewhere
		return 0, l.external(id)
	}
	if number && w.explicit && !strings.Contains(bare, ".") {
		return 0, l.noTask(id)
	}
	if lab, ok := parseLabel(id); ok && l.isFamily(lab) {
		return 0, l.noTask(id)
	}
	return 0, l.external(id)
}

// isFamily reports whether tasks of this ticket carry labels like this one.
func (l *linker) isFamily(lab label) bool {
	if l.x.families[lab.family] == nil {
		return false
	}
	// The ticket's own id, and those it depends on, may be of the same family.
	for _, id := range append([]string{l.t.ID}, l.t.DependsOn...) {
		if o, ok := parseLabel(id); ok && o.family == lab.family {
			return false
		}
	}
	return true
}

// nodeRef takes n07 or n07-slug apart.
func nodeRef(key string) (index int, slug string, ok bool) {
	rest, ok := strings.CutPrefix(key, "n")
	if !ok {
		return 0, "", false
	}
	digits, slug, _ := strings.Cut(rest, "-")
	index, err := strconv.Atoi(digits)
	if err != nil || digits[0] == '+' || len(digits) < 2 && slug != "" {
		return 0, "", false
	}
	return index, slug, true
}

func (l *linker) noTask(id string) finding {
	return finding{
		code:    fault.Invalid,
		summary: fmt.Sprintf("there is no task %q in this ticket", clip(id)),
		detail:  "it looks like an id of this ticket; the step would run without waiting for it",
		hint:    "correct the id; if another ticket is meant, name that in front matter `depends_on`; if no dependency is meant, say it with another word",
	}
}

func (l *linker) external(id string) finding {
	return finding{
		summary: fmt.Sprintf("%q is no task of this ticket: kept as an external id", clip(id)),
		detail:  "an external id orders nothing and no step waits for it",
		hint:    "if the ticket has to wait for another one, name that in front matter `depends_on`",
	}
}
