package ticket

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// place is where an item stands.
type place struct {
	section string
	part    int  // number of headings before it
	task    int  // index of the task it stands under; 0 = none
	depth   int  // list levels below that task
	deps    bool // in a list under "Depends on:"
}

func (r *reader) list(reg *region, list *ast.List, at place) {
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		r.item(reg, n, at)
	}
}

// item reads one list item: a task if it has a box with a known mark and text,
// else text of the task it stands under.
func (r *reader) item(reg *region, item ast.Node, at place) {
	first := item.FirstChild()
	if first == nil {
		return
	}
	var lines []rawLine
	if isText(first) {
		lines = reg.rawLines(first)
		first = first.NextSibling()
	}
	if len(lines) > 0 {
		if b, ok := readBox(lines[0].text); ok {
			if b.text == len(lines[0].text) && len(lines) > 1 && strings.TrimSpace(lines[1].text) != "" { // it begins on the next line
				r.task(reg, item, b, lines[1:], first, at, lines[0].offset)
				return
			}
			line, _ := r.src.at(lines[0].offset)
			switch {
			case b.text == len(lines[0].text):
				r.marks.set(line, reasonEmpty)
			case b.state == "" && !r.vary.otherMarks:
				r.marks.set(line, reasonState)
			default:
				boxOffset := lines[0].offset
				lines[0].text, lines[0].offset = lines[0].text[b.text:], boxOffset+b.text
				r.task(reg, item, b, lines, first, at, boxOffset)
				return
			}
		}
	}
	r.plainItem(reg, lines, first, at)
}

func (r *reader) task(reg *region, item ast.Node, b box, lines []rawLine, rest ast.Node, at place, boxOffset int) {
	line, column := r.src.at(reg.base + item.Pos())
	boxLine, boxColumn := r.src.at(boxOffset)
	if b.state == "" && r.vary.otherMarks {
		b.state = StateTodo
		r.otherMarks = append(r.otherMarks, boxLine)
	}
	if b.state == "" {
		r.marks.set(boxLine, reasonState)
		r.plainItem(reg, lines, rest, at)
		return
	}
	r.marks.use(boxLine)
	if len(r.t.Tasks) >= MaxTasks {
		r.tooMany(line, column)
		return
	}
	if b.glued {
		r.rep.note(line, column, finding{
			summary: "no blank behind the box; read as a step all the same",
			hint:    "write `- [ ] text`",
		})
	}
	text := strings.TrimSpace(lines[0].text)
	index := len(r.t.Tasks) + 1
	r.t.Tasks = append(r.t.Tasks, Task{
		Index: index, Line: line, Column: column, BoxLine: boxLine, BoxColumn: boxColumn, Text: text,
		State: b.state, Optional: b.optional, Section: at.section, Parent: at.task, part: at.part,
	})
	if at.task > 0 {
		p := &r.t.Tasks[at.task-1]
		p.Children = append(p.Children, index)
	}
	lead := len(lines[0].text) - len(strings.TrimLeft(lines[0].text, " \t"))
	r.raws = append(r.raws, rawTask{text: text, offset: lines[0].offset + lead})
	for _, l := range lines[1:] {
		r.note(index, noteLine{text: strings.TrimSpace(l.text), offset: l.offset, continues: true})
	}
	// "depends on:" at the end of the title, or of the lines it goes on in.
	opens := endsOpen(lines[len(lines)-1].text)
	r.below(reg, rest, place{section: at.section, part: at.part, task: index, deps: opens})
}

// tooMany reports the first task that is not read.
func (r *reader) tooMany(line, column int) {
	if r.full {
		return
	}
	r.full = true
	r.rep.limit(line, column, tooManyTasks())
}

func tooManyTasks() finding {
	return finding{
		summary: fmt.Sprintf("the ticket has more than %d tasks", MaxTasks),
		hint:    "split it into several tickets and connect them with depends_on",
	}
}

func (r *reader) plainItem(reg *region, lines []rawLine, rest ast.Node, at place) {
	below := at
	below.depth++
	if at.task == 0 {
		r.plainItems++
	}
	for i, l := range lines {
		r.note(at.task, noteLine{text: strings.TrimSpace(l.text), offset: l.offset, depth: at.depth, bullet: i == 0, listed: at.deps})
	}
	if len(lines) > 0 {
		last := lines[len(lines)-1].text
		if r.acceptance.matchLine(last) {
			r.belowAcceptance(reg, rest, at.task)
			return
		}
		below.deps = at.task > 0 && opensDependencyList(last)
	}
	r.below(reg, rest, below)
}

// below reads the blocks of an item behind its first paragraph.
func (r *reader) below(reg *region, n ast.Node, at place) {
	criteria := false
	for ; n != nil; n = n.NextSibling() {
		if list, ok := n.(*ast.List); ok {
			if criteria {
				r.criteria(reg, n, at.task)
				r.markAll(reg, n, reasonAcceptance)
				continue
			}
			r.list(reg, list, at)
			continue
		}
		r.block(reg, n, at)
		criteria = false
		if isText(n) && n.Lines().Len() > 0 {
			last := n.Lines().At(n.Lines().Len() - 1)
			text := string(last.Value(reg.text))
			criteria = r.acceptance.matchLine(text)
			at.deps = at.task > 0 && opensDependencyList(text)
		}
	}
}

// belowAcceptance reads the blocks of an item that stands for an acceptance
// heading.
func (r *reader) belowAcceptance(reg *region, n ast.Node, task int) {
	for ; n != nil; n = n.NextSibling() {
		r.criteria(reg, n, task)
		r.markAll(reg, n, reasonAcceptance)
	}
}

// block reads a block that is no list.
func (r *reader) block(reg *region, n ast.Node, at place) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		r.fence(reg, n, at)
	case *ast.CodeBlock:
		r.verbatim(reg, n, at, "", "")
		r.markAll(reg, n, reasonIndented)
	case *ast.Blockquote:
		if r.vary.quotes {
			r.below(reg, n.FirstChild(), at)
			return
		}
		reg.eachTextLine(n, func(l rawLine) {
			r.note(at.task, noteLine{text: "> " + strings.TrimSpace(l.text), offset: l.offset, depth: at.depth, code: true})
		})
		r.markAll(reg, n, reasonQuote)
	case *ast.HTMLBlock:
		if bytes.HasPrefix(bytes.TrimSpace(reg.firstLine(n)), []byte("<!--")) {
			r.markAll(reg, n, reasonComment)
			return
		}
		r.verbatim(reg, n, at, "", "")
		r.markAll(reg, n, reasonHTML)
	default:
		if isText(n) {
			for _, l := range reg.rawLines(n) {
				r.note(at.task, noteLine{text: strings.TrimSpace(l.text), offset: l.offset, depth: at.depth})
			}
		}
	}
}

func (r *reader) note(task int, l noteLine) {
	if task > 0 && l.text != "" {
		raw := &r.raws[task-1]
		raw.notes = append(raw.notes, l)
	}
}

// verbatim keeps a block in the notes as it is, between two lines.
func (r *reader) verbatim(reg *region, n ast.Node, at place, before, after string) {
	if at.task == 0 {
		return
	}
	offset := reg.base + n.Pos()
	r.note(at.task, noteLine{text: before, offset: offset, depth: at.depth, code: true})
	for _, l := range reg.rawLines(n) {
		r.note(at.task, noteLine{text: l.text, offset: l.offset, depth: at.depth, code: true})
	}
	r.note(at.task, noteLine{text: after, offset: offset, depth: at.depth, code: true})
}

func isText(n ast.Node) bool {
	switch n.Kind() {
	case ast.KindParagraph, ast.KindTextBlock, ast.KindHeading:
		return true
	}
	return false
}

// firstLine returns the first line of a block.
func (r *region) firstLine(n ast.Node) []byte {
	if n.Lines().Len() == 0 {
		return nil
	}
	seg := n.Lines().At(0)
	return seg.Value(r.text)
}

// blockText returns the lines of a block as one text.
func (r *region) blockText(n ast.Node) string {
	var b strings.Builder
	for _, l := range r.rawLines(n) {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// eachTextLine calls f with every line of text in a block and the blocks in it.
func (r *region) eachTextLine(n ast.Node, f func(rawLine)) {
	if n.Type() == ast.TypeInline {
		return
	}
	if n.Kind() != ast.KindHTMLBlock {
		for _, l := range r.rawLines(n) {
			f(l)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.eachTextLine(c, f)
	}
}
