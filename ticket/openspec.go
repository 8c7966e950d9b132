package ticket

import "fmt"

// openSpec reads the tasks of an OpenSpec change: numbered sections with numbered
// boxes, carried out one after another in the order of the file.
type openSpec struct{ ambit }

func (openSpec) name() string { return FormatOpenSpec }

func (openSpec) recognize(s *signs) (int, string) {
	switch {
	case s.under("openspec/changes") && s.base() == "tasks.md":
		return 88, "it is the tasks.md of a change in the folder openspec"
	case s.numberedSections >= 1 && s.numbers >= 2 && s.most(s.numbers):
		return 70, fmt.Sprintf("%s of %d are numbered, in %s", count(s.numbers, "box"), s.boxes, count(s.numberedSections, "numbered section"))
	case s.numberedSections >= 2 && s.boxes >= 2:
		return 40, fmt.Sprintf("its boxes stand in %s", count(s.numberedSections, "numbered section"))
	}
	return 0, ""
}

func (openSpec) prepare(r *reader) { r.vary.numbering = true }

func (openSpec) arrange(l *linker) {
	l.nestByNumber()
	l.inOrder(func(before, after *Task) (Reason, bool) {
		if before.part == after.part || after.part == 0 {
			return Reason{Kind: ReasonList}, false
		}
		h := l.heads[after.part-1]
		return Reason{Kind: ReasonSection, Line: h.line, Text: h.title}, false
	})
}
