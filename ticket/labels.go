package ticket

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// labelIndex finds tasks by the ids their author gave them.
type labelIndex struct {
	task     map[string]int     // by label or alias, folded; 0 = several
	several  map[string][]int   // those of an ambiguous one
	families map[string]*family // by name
	used     map[string]bool    // ambiguous keys that were reported where they are used
	numbered bool               // nothing is labelled: #3 is the third task
	size     int                // number of tasks
}

// family holds the tasks whose labels differ in their numbers only, by number.
type family struct {
	name  string
	items []familyItem
}

type familyItem struct {
	label
	task int
}

// newLabelIndex collects labels and aliases and fills in Task.Label and
// Task.Aliases.
func (r *reader) newLabelIndex() *labelIndex {
	x := &labelIndex{
		task: make(map[string]int, len(r.t.Tasks)), several: map[string][]int{}, families: map[string]*family{}, used: map[string]bool{},
		numbered: true, size: len(r.t.Tasks),
	}
	var last *family // most tasks are of the family of the one before
	for i := range r.t.Tasks {
		t := &r.t.Tasks[i]
		if l, ok := leadingLabel(t.Text); ok {
			t.Label = l.text
			x.add(l.text, t.Index)
			if last == nil || last.name != l.family {
				if last = x.families[l.family]; last == nil {
					last = &family{name: l.family}
					x.families[l.family] = last
				}
			}
			last.items = append(last.items, familyItem{l.label, t.Index})
			x.numbered = false
		}
		if r.vary.issueNumbers {
			x.numbered = false
			if id := issueAtStart(t.Text); id != "" {
				t.Aliases = append(t.Aliases, id)
				x.add(id, t.Index)
			}
		}
		if !strings.Contains(t.Text, markID) && !strings.Contains(t.Text, "::") {
			continue
		}
		for _, m := range mentions(nil, t.Text, func(idRef) bool { return false }) {
			if m.kind == mentionAlias {
				t.Aliases = append(t.Aliases, m.alias)
				x.add(m.alias, t.Index)
				x.numbered = false
			}
		}
	}
	for _, f := range x.families {
		slices.SortStableFunc(f.items, func(a, b familyItem) int { return a.compare(b.label) })
	}
	return x
}

func (x *labelIndex) add(id string, task int) {
	key := fold(id)
	switch before, ok := x.task[key]; {
	case !ok:
		x.task[key] = task
	case before == task:
	case before > 0:
		x.task[key], x.several[key] = 0, []int{before, task}
	case x.several[key][len(x.several[key])-1] != task:
		x.several[key] = append(x.several[key], task)
	}
}

// find returns the task that an id stands before, in any case: 0 if it stands
// before several, or, with ok false, before none.
func (x *labelIndex) find(id string) (task int, ok bool) {
	var buf [64]byte
	if len(id) > len(buf) {
		task, ok = x.task[fold(id)]
		return task, ok
	}
	key := buf[:len(id)]
	for i := range len(id) {
		c := id[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		key[i] = c
	}
	task, ok = x.task[string(key)] // without a copy
	return task, ok
}

// knows reports whether an id stands before a task.
func (x *labelIndex) knows(id string) bool {
	_, ok := x.find(id)
	return ok
}

// between returns the tasks whose labels lie in a range, ends included, and
// whether both ends exist.
func (x *labelIndex) between(from, to label) (tasks []int, ends bool) {
	f := x.families[from.family]
	if f == nil {
		return nil, false
	}
	items := f.items
	i := sort.Search(len(items), func(i int) bool { return items[i].compare(from) >= 0 })
	var first, last bool
	for ; i < len(items) && items[i].compare(to) <= 0; i++ {
		if items[i].n != from.n {
			continue // 2 does not lie between 1.1 and 2.3
		}
		first = first || items[i].compare(from) == 0
		last = last || items[i].compare(to) == 0
		tasks = append(tasks, items[i].task)
	}
	return tasks, first && last
}

// reportDuplicates reports labels that several tasks carry. It is an error where
// the label is certainly one; S3 or UTF-8 may be a word, and numbers often start
// again in each section, so for those it is only one where a dependency uses it.
func (r *reader) reportDuplicates(x *labelIndex) {
	if len(x.several) == 0 {
		return
	}
	counted := map[string]int{} // families by the number of their distinct labels
	for name, f := range x.families {
		for i := range f.items {
			if i == 0 || f.items[i].compare(f.items[i-1].label) != 0 {
				counted[name]++
			}
		}
	}
	seen := map[string]bool{}
	for i := range r.t.Tasks {
		t := &r.t.Tasks[i]
		for _, id := range append([]string{t.Label}, t.Aliases...) {
			key := fold(id)
			tasks := x.several[key]
			if len(tasks) < 2 || seen[key] || x.used[key] {
				continue
			}
			seen[key] = true
			second := r.t.Tasks[tasks[1]-1]
			var lines []int
			for _, n := range tasks {
				lines = append(lines, r.t.Tasks[n-1].Line)
			}
			sev := fault.SeverityError
			if r.vary.numbering {
				sev = fault.SeverityNote
			} else if l, ok := leadingLabel(t.Text); ok && id == t.Label && (l.plain || !l.sure && counted[l.family] < 2) {
				sev = fault.SeverityWarning
			}
			f := finding{
				summary: fmt.Sprintf("label %q stands before %d tasks", id, len(tasks)),
				detail:  lineList(lines),
				hint:    "give each task a label of its own",
			}
			if sev == fault.SeverityError {
				f.code = fault.Invalid
			}
			r.rep.add(sev, second.Line, second.Column, f)
		}
	}
}
