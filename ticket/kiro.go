package ticket

import (
	"fmt"
	"strings"
)

// kiro reads the plans of Kiro and of cc-sdd: numbered boxes, nested by Markdown or
// by their numbers. They run in the order of the list, those marked (P) side by
// side; or, where the file has a table of waves, in its order.
type kiro struct{}

func (kiro) name() string { return FormatKiro }

func (kiro) recognize(s *signs) (int, string) {
	if s.numbers < 2 || !s.most(s.numbers) {
		return 0, ""
	}
	why := list(found(s.requirements, "line", " of _Requirements_"), found(s.dependsLines, "line", " of _Depends_"), found(s.parallelP, "box", " marked (P)"),
		found(s.optional, "optional box", ""), given(s.waves, "a table of waves"), given(s.planHeading, "a heading Implementation Plan"))
	sure := 0
	switch {
	case s.requirements+s.dependsLines > 0 || s.waves || s.under(".kiro"):
		sure = 85
	case s.planHeading || s.optional+s.parallelP > 0:
		sure = 60
	default:
		return 0, ""
	}
	return sure, fmt.Sprintf("%s of %d are numbered", count(s.numbers, "box"), s.boxes) + prefixed(", with ", why)
}

func (kiro) prepare(r *reader) { r.vary.numbering = true }

func (kiro) tags(t *Task, text string) (cuts []span) {
	for i := 0; ; {
		at := strings.Index(text[i:], "(P)")
		if at < 0 {
			return cuts
		}
		at += i
		i = at + 3
		if (at == 0 || text[at-1] == ' ' || text[at-1] == '*') && (i == len(text) || text[i] == ' ' || text[i] == '*') {
			t.Parallel = true
			cuts = append(cuts, span{at, i})
		}
	}
}

func (kiro) arrange(l *linker) {
	l.nestByNumber()
	if l.waves() {
		return
	}
	l.inOrder(func(before, after *Task) (Reason, bool) {
		switch {
		case before.part == after.part && before.Parallel && after.Parallel:
			return Reason{}, true
		case before.part == after.part || after.part == 0:
			return Reason{Kind: ReasonList}, false
		}
		h := l.heads[after.part-1]
		return Reason{Kind: ReasonSection, Line: h.line, Text: h.title}, false
	})
}

// nestByNumber makes 2.1 a child of the task 2 before it, where the list has both
// at the same level. Where 2.1 says that it waits for 2, its author does not mean 2
// as the whole of which it is a part: nothing is nested in that.
func (l *linker) nestByNumber() {
	tasks := l.t.Tasks
	parents := make([]int, len(tasks)) // by number; 0 = none
	type open struct {
		label
		task int
	}
	var stack []open
	first := map[int]bool{} // tasks that one of their parts waits for
	for i := range tasks {
		t := &tasks[i]
		if t.Parent > 0 {
			continue // nested as Markdown has it
		}
		lab, ok := parseLabel(t.Label)
		if !ok || lab.family != "" {
			stack = stack[:0]
			continue
		}
		for len(stack) > 0 && !within(stack[len(stack)-1].label, lab) {
			stack = stack[:len(stack)-1]
		}
		if n := len(stack); n > 0 {
			parents[i] = stack[n-1].task
		}
		for _, r := range t.DependsOn {
			for _, outer := range stack {
				if r.Task == outer.task {
					first[outer.task] = true
				}
			}
		}
		stack = append(stack, open{lab, t.Index})
	}
	for i, parent := range parents {
		if parent > 0 && !first[parent] {
			tasks[i].Parent = parent
			tasks[parent-1].Children = append(tasks[parent-1].Children, i+1)
		}
	}
}

// within reports whether a number such as 2.1 lies within another such as 2. The
// 2.0 that some write means 2.
func within(outer, inner label) bool {
	n := outer.n
	if n > 1 && outer.nums[n-1] == 0 {
		n--
	}
	if n >= inner.n {
		return false
	}
	for k := range n {
		if outer.nums[k] != inner.nums[k] {
			return false
		}
	}
	return outer.compare(inner) != 0
}
