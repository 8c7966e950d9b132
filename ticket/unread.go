package ticket

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// reason says what became of a line: why a box on it is not a step, or that it
// was used.
type reason struct {
	severity fault.Severity // "" = used; nothing to report
	where    string         // "in code fences"
	summary  string         // what is said of "3 boxes …"
	detail   string
	hint     string
}

// lineMarks records one reason per line.
type lineMarks struct {
	marks   []uint16 // index into reasons, 0 = nothing known about the line
	reasons []reason
	index   map[string]uint16 // by where
}

func newLineMarks(lines int) *lineMarks {
	return &lineMarks{
		marks: make([]uint16, lines+1), reasons: []reason{{}, {where: "used"}},
		index: map[string]uint16{},
	}
}

// use marks a line as read.
func (m *lineMarks) use(line int) { m.marks[line] = 1 }

// set marks a line, unless it is marked already: the innermost reading wins, and
// blocks are read from the inside.
func (m *lineMarks) set(line int, why reason) {
	if m.marks[line] == 0 {
		m.marks[line] = m.other(why)
	}
}

// other returns the index of a reason.
func (m *lineMarks) other(why reason) uint16 {
	i, ok := m.index[why.where]
	if !ok {
		if len(m.reasons) > 1<<15 {
			why = reasonOther // hundreds of headings of one kind; one entry will do
		}
		if i, ok = m.index[why.where]; !ok {
			i = uint16(len(m.reasons))
			m.reasons = append(m.reasons, why)
			m.index[why.where] = i
		}
	}
	return i
}

var (
	reasonOther      = reason{severity: fault.SeverityNote, where: "elsewhere", summary: "not read as steps"}
	reasonFence      = reason{severity: fault.SeverityNote, where: "in code fences", summary: "in code fences: examples, not steps"}
	reasonComment    = reason{severity: fault.SeverityNote, where: "in HTML comments", summary: "in HTML comments: not steps"}
	reasonQuote      = reason{severity: fault.SeverityNote, where: "in quotes", summary: "in quotes: not steps"}
	reasonAcceptance = reason{severity: fault.SeverityNote, where: "under acceptance headings", summary: "under acceptance headings: criteria, not steps"}
	reasonIndented   = reason{
		severity: fault.SeverityWarning, where: "in indented code", summary: "in indented code: not steps",
		detail: "Markdown reads text that is indented by four columns or more, and belongs to no list item, as code",
		hint:   "indent less",
	}
	reasonWhole = reason{
		severity: fault.SeverityNote, where: "in the text of the one step that the file is", summary: "in the text of the one step that the file is: not steps",
		hint: "--format ambit makes each of them a step",
	}
	reasonHTML = reason{
		severity: fault.SeverityWarning, where: "in HTML", summary: "in an HTML block: not steps",
		detail: "an HTML block goes on to the next empty line",
		hint:   "put an empty line between the HTML and the list",
	}
	reasonOutside = reason{
		severity: fault.SeverityWarning, where: "outside of the section Tasks", summary: "outside of the section Tasks: not steps",
		detail: "where a ticket has a section `## Tasks`, only that is read",
		hint:   "move them there, or give the section another name",
	}
	reasonState = reason{
		severity: fault.SeverityWarning, where: "with an unknown mark", summary: "with an unknown mark: not steps",
		detail: "known are [ ] to do, [/] begun, [x] done, [-] cancelled, [~] deferred",
		hint:   "use one of these",
	}
	reasonEmpty = reason{
		severity: fault.SeverityWarning, where: "without text", summary: "without text: not steps",
		hint: "say what is to be done, or remove the line",
	}
	reasonLiteral = reason{
		severity: fault.SeverityWarning, where: "that the literal grammar does not read", summary: "that the literal grammar does not read: not steps",
		detail: "it reads `-` or `*`, one of [ ] [x] [X], and text",
		hint:   "write them so, or leave out --grammar literal",
	}
	reasonNoItem = reason{
		severity: fault.SeverityWarning, where: "that Markdown does not read as list items", summary: "that Markdown does not read as list items: not steps",
		hint: "write `- [ ] text`, with these blanks, after an empty line",
	}
)

func reasonSection(heading string) reason {
	return reason{
		severity: fault.SeverityNote, where: fmt.Sprintf("under %q", clip(heading)),
		summary: fmt.Sprintf("under %q: that section holds no steps", clip(heading)),
	}
}

// reportUnread reports every line that looks like a checklist item and is not
// one, by reason, and returns the reason why no task was read.
//
// open is the first line with a box that a warning is about and that is not ticked:
// work that may be left, though no step stands for it.
func (m *lineMarks) reportUnread(src *source, rep *report) (why string, open int) {
	byReason := map[uint16][]int{}
	var stray []int // lines that state dependencies outside of any task
	total := 0
	breaks := bytes.ContainsAny(src.text, lineBreaks)
	for n := 1; n <= len(src.lines); n++ {
		if src.lines[n-1] < src.body {
			continue
		}
		mark, line := m.marks[n], src.line(n)
		read := mark != 0 && m.reasons[mark].severity == ""
		if read && !breaks {
			continue
		}
		rest, ok := personsBox(line, read, breaks)
		if read {
			if !ok {
				continue
			}
			mark = m.other(reasonNoItem) // a second box in a line that was read
		}
		if ok {
			if mark == 0 {
				m.set(n, reasonNoItem)
				mark = m.marks[n]
			}
			byReason[mark] = append(byReason[mark], n)
			total++
			if open == 0 && m.reasons[mark].severity == fault.SeverityWarning && !tickedBox(rest) {
				open = n
			}
		} else if mark == 0 && statesDependency(line) {
			stray = append(stray, n)
		}
	}
	var parts []string
	for i, r := range m.reasons {
		lines := byReason[uint16(i)]
		if len(lines) == 0 {
			continue
		}
		rep.add(r.severity, lines[0], firstColumn(src.line(lines[0])), finding{
			summary: count(len(lines), "box") + " " + r.summary,
			detail:  strings.TrimSuffix(lineList(lines)+"; "+r.detail, "; "), hint: r.hint,
		})
		parts = append(parts, fmt.Sprintf("%d %s", len(lines), r.where))
	}
	if len(stray) > 0 {
		rep.warn(stray[0], firstColumn(src.line(stray[0])), finding{
			summary: "dependencies stated outside of any task are not read",
			detail:  lineList(stray),
			hint:    "write them in the task's line or indented below it; for the ticket as a whole, in front matter `depends_on`",
		})
	}
	switch {
	case total == 0:
		return "the ticket has no checklist line", open
	case len(parts) == 1 && total > 1:
		_, where, _ := strings.Cut(parts[0], " ")
		return fmt.Sprintf("%d boxes, all %s", total, where), open
	case len(parts) == 1:
		return "1 box, " + strings.TrimPrefix(parts[0], "1 "), open
	}
	return fmt.Sprintf("%d boxes: %s", total, strings.Join(parts, ", ")), open
}

// statesDependency reports whether a line outside of a task begins with words
// that state a dependency, followed by something that looks like an id.
func statesDependency(line []byte) bool {
	line = bytes.TrimLeft(line, " \t-*+_>")
	if len(line) == 0 || !strings.ContainsRune("dDbB", rune(line[0])) {
		return false
	}
	if len(line) > 200 {
		line = line[:200]
	}
	s := strings.ToValidUTF8(string(line), "")
	k, ok := keywordAt(s, 0)
	if !ok || k.word == wordAfter || k.word == wordRequires || k.word == wordBlocks {
		return false
	}
	refs, _ := idList(s, k.end, func(r idRef) bool { return looksLikeID(r.text) })
	return len(refs) > 0
}

// firstColumn returns the column of the first character of a line behind blanks
// and the marks of quotes.
func firstColumn(line []byte) int {
	return len(line) - len(bytes.TrimLeft(line, " \t>")) + 1
}
