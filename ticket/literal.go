package ticket

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// literal is the grammar of the format as it is written down: one line at a time,
// sections of level 2 only, no Markdown. See docs/tickets.md for what it reads
// where the rules leave a choice.
type literal struct{}

func (literal) name() string { return GrammarLiteral }

// literalAcceptance is the one section of acceptance; it holds no tasks, as those
// of sectionsWithoutWork do not.
const literalAcceptance = "acceptance criteria"

func (literal) read(src *source, t *Ticket, rep *report, _ *Options) {
	body, offset := src.original()
	r := &literalReader{src: src, body: string(body), offset: offset, t: t, rep: rep, marks: newLineMarks(len(src.lines))}
	r.lines(func(_ literalPlace, line string) {
		if name, ok := literalHeading(line); ok && name == sectionTasks {
			r.hasTasks = true
		}
	})
	r.lines(r.line)
	if len(t.Tests) == 0 {
		for _, p := range t.Files {
			if strings.Contains(pyLower(p), "test") {
				t.Tests = append(t.Tests, p)
			}
		}
	}
	r.resolve()
	var why string
	why, t.openUnread = r.marks.reportUnread(src, rep)
	if len(t.Tasks) == 0 {
		t.NoTasks = why
	}
}

// literalReader reads one ticket line by line.
type literalReader struct {
	src      *source
	body     string // as it was given
	offset   int    // of body in the source; negative where a byte order mark belongs to it
	t        *Ticket
	rep      *report
	marks    *lineMarks
	hasTasks bool
	title    string // the heading of the section at hand, as written
	section  string // its name; "" before the first
	full     bool
}

// literalPlace is where a line begins, and how much of the file's encoding stands
// before it.
type literalPlace struct{ line, column int }

// lines calls f with every line of the body. Lines end with LF, and one CR before
// it goes with it; a CR elsewhere is a character of the line, as is a byte order
// mark.
func (r *literalReader) lines(f func(at literalPlace, line string)) {
	text, offset := r.body, r.offset
	n := 1 // the line of the source that offset is in
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		for n < len(r.src.lines) && r.src.lines[n] <= offset {
			n++
		}
		f(literalPlace{n, max(offset, 0) - r.src.lines[n-1] + 1}, strings.TrimSuffix(line, "\r"))
		offset += len(text) - len(rest)
		text = rest
	}
}

// literalHeading returns the name of the section that a line opens.
func literalHeading(line string) (name string, ok bool) {
	title, ok := strings.CutPrefix(line, "## ")
	if !ok {
		return "", false // most lines
	}
	return pyLower(pyStrip(title)), true
}

func (r *literalReader) line(at literalPlace, line string) {
	if name, ok := literalHeading(line); ok {
		r.section, r.title = name, pyStrip(line[len("## "):])
		return
	}
	switch r.section {
	case literalAcceptance:
		if text := pyStrip(line); text != "" {
			r.t.Acceptance = append(r.t.Acceptance, text)
		}
	case sectionFiles:
		if p, ok := literalPath(line); ok {
			r.t.Files = append(r.t.Files, p)
		}
	case sectionTests:
		if p, ok := literalPath(line); ok {
			r.t.Tests = append(r.t.Tests, p)
		}
	}
	if title, ok := strings.CutPrefix(line, "# "); ok && r.t.Objective == "" {
		r.t.Objective = pyStrip(title)
	}
	switch {
	case slices.Contains(sectionsWithoutWork, r.section) || r.section == literalAcceptance:
		r.marks.set(at.line, reasonSection(r.title))
	case r.hasTasks && r.section != sectionTasks:
		r.marks.set(at.line, reasonOutside)
	default:
		r.task(at, line)
	}
}

func (r *literalReader) task(at literalPlace, line string) {
	text, offset, done, ok := literalTask(line)
	if !ok {
		if boxLike([]byte(line)) {
			r.marks.set(at.line, reasonLiteral)
		}
		return
	}
	r.marks.use(at.line)
	if len(r.t.Tasks) >= MaxTasks {
		if !r.full {
			r.full = true
			r.rep.limit(at.line, at.column, tooManyTasks())
		}
		return
	}
	t := Task{
		Index: len(r.t.Tasks) + 1, Line: at.line, Column: at.column + skipPySpace(line, 0),
		Text: text, Title: text, State: StateTodo, Section: r.title,
	}
	t.BoxLine, t.BoxColumn = r.src.at(r.src.lines[at.line-1] + at.column - 1 + literalBox(line))
	if done {
		t.State = StateDone
	}
	if cut, ids, ok := literalClause(text); ok {
		t.Title = pyStrip(text[:cut.start] + text[cut.end:])
		for _, id := range ids {
			t.DependsOn = append(t.DependsOn, Ref{Written: id, Line: at.line, Column: at.column + offset + cut.start})
		}
	}
	t.ID = nodeID(t.Index, t.Title)
	r.t.Tasks = append(r.t.Tasks, t)
}

// resolve finds the tasks that dependencies mean, and says what is taken for the
// id of another ticket: it is kept, and orders nothing.
func (r *literalReader) resolve() {
	byID := make(map[string]int, len(r.t.Tasks))
	for i := range r.t.Tasks {
		byID[r.t.Tasks[i].ID] = i + 1
	}
	for i := range r.t.Tasks {
		t := &r.t.Tasks[i]
		for k := range t.DependsOn {
			ref := &t.DependsOn[k]
			if ref.Task = byID[ref.Written]; ref.Task == 0 {
				ref.Task = literalNumber(ref.Written, len(r.t.Tasks))
			}
			if ref.Task == 0 && !slices.Contains(r.t.DependsOn, ref.Written) && !r.rep.full() {
				r.foreign(t, ref)
			}
		}
		if t.Title == "" {
			r.rep.warn(t.Line, t.Column, finding{
				summary: "the task has no text of its own", detail: "its step is called " + t.ID,
				hint: "say what is to be done",
			})
		}
	}
	if n := len(r.t.Tasks); n > 99 {
		r.rep.note(r.t.Tasks[99].Line, r.t.Tasks[99].Column, finding{
			summary: count(n, "task") + ": steps that could run at the same time are sorted by their ids as text, so n100 comes before n11",
			hint:    "leave out --grammar literal to keep the order of the list, or declare dependencies",
		})
	}
}

func (r *literalReader) foreign(t *Task, ref *Ref) {
	f := finding{
		summary: fmt.Sprintf("%q is read as the id of another ticket", clip(ref.Written)),
		detail:  fmt.Sprintf("no task of this one has it; it orders nothing, and is cut out of the title: %q", clip(t.Title)),
		hint:    "for a task of this ticket write n and its number: `depends on n01`",
	}
	sev := fault.SeverityNote
	if !looksLikeID(ref.Written) {
		sev = fault.SeverityWarning
		f.hint = "if it is a word, say it without depends on, requires or after; or leave out --grammar literal"
	}
	r.rep.add(sev, ref.Line, ref.Column, f)
}

// literalNumber returns the task that nNN means: the one with that index.
func literalNumber(id string, tasks int) int {
	digits, ok := strings.CutPrefix(id, "n")
	if !ok || digits == "" {
		return 0
	}
	n := 0
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' {
			return 0
		}
		if n = n*10 + int(c-'0'); n > tasks {
			return 0
		}
	}
	return n
}
