package ticket

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// practical is the grammar for tickets as people write them: CommonMark, every
// box a step unless its section says otherwise.
type practical struct{}

func (practical) name() string { return GrammarPractical }

func (practical) read(src *source, t *Ticket, rep *report, opts *Options) {
	r := &reader{
		src: src, t: t, rep: rep,
		marks: newLineMarks(len(src.lines)), acceptance: newAcceptanceNames(opts.AcceptanceHeadings),
	}
	if r.format = opts.reads; r.format == nil {
		r.format = ambit{}
	}
	r.siblings = opts.siblings
	r.format.prepare(r)
	reg := parseRegion(src, src.body, len(src.text))
	r.unfinished(reg)
	r.makeRoom()
	r.document(reg)
	r.testsFromFiles()
	r.link()
	var why string
	why, t.openUnread = r.marks.reportUnread(src, rep)
	if len(t.Tasks) == 0 {
		t.Tasks = nil
		t.NoTasks = why
		if r.plainItems > 0 {
			t.NoTasks += fmt.Sprintf("; %s without a box", count(r.plainItems, "list item"))
		}
	}
}

// unfinished reports a region that was not read to its end or depth.
func (r *reader) unfinished(reg *region) {
	if reg.stop < 0 {
		return
	}
	line, col := r.src.at(reg.stop)
	f := finding{
		summary: "the ticket has too many nested lists or quotes",
		detail:  "reading stopped here",
		hint:    "nest less, or split the ticket",
	}
	if reg.tooDeep {
		f = finding{
			summary: fmt.Sprintf("lists or quotes are nested more than %d deep", maxNesting),
			hint:    "nest less: what stands deeper cannot be read",
		}
	}
	r.rep.err(line, col, f)
}

// makeRoom reserves space for the tasks, which are most of what is allocated.
func (r *reader) makeRoom() {
	n := 0
	for i := 1; i <= len(r.src.lines) && n < MaxTasks; i++ {
		if boxLike(r.src.line(i)) {
			n++
		}
	}
	r.t.Tasks, r.raws = make([]Task, 0, n), make([]rawTask, 0, n)
}

// reader walks the blocks of one ticket.
type reader struct {
	src        *source
	t          *Ticket
	rep        *report
	marks      *lineMarks
	acceptance acceptanceNames
	hasTasks   bool // there is a section Tasks: only that one is read
	raws       []rawTask
	full       bool // MaxTasks is reached
	plainItems int  // list items without a box where steps are read
	format     format
	vary       variations
	heads      []head
	siblings   []string // ids of tickets that are read with this one
	otherMarks []int    // lines of boxes whose mark nobody knows, taken as to do
}

// head is a heading of the top level.
type head struct {
	level, line int
	title       string
}

// rawTask is what the linker needs of a task besides the Task.
type rawTask struct {
	text   string // behind the box
	offset int    // of text in the source
	notes  []noteLine
	opened bool // the title ends in "depends on:", and the list below it says what
}

// noteLine is one line below a task's box.
type noteLine struct {
	text      string
	offset    int
	depth     int  // list levels below the task
	bullet    bool // starts a list item
	continues bool // of the paragraph that the title stands in
	code      bool // verbatim
	listed    bool // an entry of a list of dependencies
}

// mode is what boxes mean where they stand.
type mode int

const (
	modeWork mode = iota
	modeAcceptance
	modeFiles
	modeTests
	modeIgnore
)

func (r *reader) modeIn(s section) (mode, reason) {
	switch {
	case s.acceptance > 0:
		return modeAcceptance, reasonAcceptance
	case s.name == sectionFiles:
		return modeFiles, reasonSection(s.heading)
	case s.name == sectionTests:
		return modeTests, reasonSection(s.heading)
	case s.withoutWork():
		return modeIgnore, reasonSection(s.heading)
	case r.hasTasks && s.name != sectionTasks:
		return modeIgnore, reasonOutside
	case r.vary.whole:
		return modeIgnore, reasonWhole
	}
	return modeWork, reason{}
}

// document reads the top level.
func (r *reader) document(reg *region) {
	for n := reg.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 && plainHeading(reg.headingText(h)) == sectionTasks {
			r.hasTasks = true
		}
	}
	var sec section
	m, why := r.modeIn(sec)
	criteria := false // a line that stands for an acceptance heading came just before
	for n := reg.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			title := reg.headingText(h)
			if h.Level == 1 && r.t.Objective == "" {
				r.t.Objective = title
			}
			line, _ := r.src.at(reg.base + max(h.Pos(), 0))
			r.heads = append(r.heads, head{h.Level, line, title})
			sec = sec.enter(h.Level, title, r.acceptance)
			if r.vary.checklists && sec.acceptance == 0 && isChecklist(title) {
				sec.acceptance = h.Level
			}
			m, why = r.modeIn(sec)
			criteria = false
			continue
		}
		list, isList := n.(*ast.List)
		if !isList {
			criteria = m == modeWork && r.isAcceptanceLine(reg, n)
		}
		switch {
		case m == modeAcceptance || criteria && isList:
			r.criteria(reg, n, 0)
			r.markAll(reg, n, reasonAcceptance)
		case m == modeFiles:
			r.paths(reg, n, &r.t.Files, false)
			r.markAll(reg, n, why)
		case m == modeTests:
			r.paths(reg, n, &r.t.Tests, true)
			r.markAll(reg, n, why)
		case m == modeIgnore:
			r.markAll(reg, n, why)
		case isList:
			r.list(reg, list, place{section: sec.title, part: len(r.heads)})
		default:
			r.block(reg, n, place{section: sec.title, part: len(r.heads)})
		}
	}
}

// isAcceptanceLine reports whether a paragraph ends in a line that stands for an
// acceptance heading.
func (r *reader) isAcceptanceLine(reg *region, n ast.Node) bool {
	if n.Kind() != ast.KindParagraph || n.Lines().Len() == 0 {
		return false
	}
	last := n.Lines().At(n.Lines().Len() - 1)
	return r.acceptance.matchLine(string(last.Value(reg.text)))
}

// markAll gives a reason to every line of a block.
func (r *reader) markAll(reg *region, n ast.Node, why reason) {
	reg.blockLines(n, func(offset int) {
		line, _ := r.src.at(offset)
		r.marks.set(line, why)
	})
}

// criteria adds the text of a block to the acceptance of the ticket, or to the
// notes of a task: one per list item and paragraph.
func (r *reader) criteria(reg *region, n ast.Node, task int) {
	switch n.Kind() {
	case ast.KindParagraph, ast.KindTextBlock, ast.KindHeading:
		var parts []string
		for i, l := range reg.rawLines(n) {
			text := strings.TrimSpace(l.text)
			if i == 0 && n.PreviousSibling() == nil {
				if b, ok := readBox(text); ok {
					text = strings.TrimSpace(text[b.text:])
				}
			}
			parts = append(parts, text)
		}
		text := strings.TrimSpace(strings.Join(parts, " "))
		if text == "" || r.acceptance.matchLine(text) {
			return
		}
		if task > 0 {
			raw := &r.raws[task-1]
			raw.notes = append(raw.notes, noteLine{text: text, offset: reg.base + n.Lines().At(0).Start, depth: 1, bullet: true, code: true})
		} else {
			r.t.Acceptance = append(r.t.Acceptance, text)
		}
	case ast.KindFencedCodeBlock, ast.KindCodeBlock:
		if text := strings.TrimSpace(reg.blockText(n)); text != "" && task == 0 {
			r.t.Acceptance = append(r.t.Acceptance, text)
		}
	case ast.KindList, ast.KindListItem, ast.KindBlockquote:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			r.criteria(reg, c, task)
		}
	}
}
