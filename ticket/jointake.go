package ticket

import (
	"fmt"
	"slices"
	"strings"
)

// take appends the tasks of one file, below a task for the file itself.
func (j *joiner) take(t *Ticket) {
	w, at := j.whole, len(j.whole.Tasks)+1
	id := j.prefix(t.ID)
	head := Task{
		Index: at, ID: id, Line: max(t.dependsLine, t.idLine, 1), Column: 1, Title: t.Objective, Text: t.Objective,
		State: StateTodo, Label: t.ID, Boxless: true, File: t.File,
	}
	files, tests := t.attached()
	switch {
	case len(t.Tasks) == 1 && t.Tasks[0].Boxless: // Backlog.md
		k := t.Tasks[0]
		head.State, head.Notes, head.hasWork = k.State, k.Notes, true
		head.Files, head.Tests = files[0], tests[0]
		w.Tasks = append(w.Tasks, head)
		return
	case len(t.Tasks) == 0:
		head.Notes, head.hasWork = strings.TrimSpace(t.Text), true
		head.Files, head.Tests = t.Files, t.Tests
		w.Tasks = append(w.Tasks, head)
		j.rep.warn(head.Line, 0, noStep(t, t.File))
		return
	case t.Finished():
		head.State = StateDone
	}
	w.Tasks = append(w.Tasks, head)
	for i, k := range t.Tasks {
		k.Index += at
		k.ID = id + ":" + k.ID
		k.File, k.Files, k.Tests = t.File, files[i], tests[i]
		k.Children = shifted(k.Children, at)
		if k.Parent += at; k.Parent == at {
			w.Tasks[at-1].Children = append(w.Tasks[at-1].Children, k.Index)
		}
		k.DependsOn = slices.Clone(k.DependsOn)
		for r := range k.DependsOn {
			if k.DependsOn[r].Task > 0 {
				k.DependsOn[r].Task += at
			} else if other, ok := j.byID[fold(k.DependsOn[r].Written)]; ok {
				k.DependsOn[r].Task = -1 - other // settled when all files have their place
			}
		}
		w.Tasks = append(w.Tasks, k)
	}
	for _, s := range t.Sequences {
		moved := Sequence{Declared: s.Declared, Children: s.Children, Parent: s.Parent}
		if s.Children {
			moved.Parent += at // what had no parent has one now
		}
		for _, b := range s.Batches {
			moved.Batches = append(moved.Batches, Batch{Tasks: shifted(b.Tasks, at), Why: b.Why})
		}
		w.Sequences = append(w.Sequences, moved)
	}
	for _, c := range t.Acceptance {
		w.Acceptance = append(w.Acceptance, t.ID+": "+c)
	}
	w.TestCommands = appendNew(w.TestCommands, t.TestCommands...)
}

// prefix makes a part of file names of an id, one that no other file has.
func (j *joiner) prefix(id string) string {
	safe := strings.Trim(strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' || r == ' ' {
			return '-'
		}
		return r
	}, id), ".-")
	if safe == "" {
		safe = "ticket"
	}
	for n, base := 2, safe; j.used[fold(safe)]; n++ {
		safe = fmt.Sprintf("%s-%d", base, n)
	}
	j.used[fold(safe)] = true
	return safe
}

// attached returns the files and tests of each task: those it claims, and those of
// the ticket that its title names.
func (t *Ticket) attached() (files, tests [][]string) {
	b := builder{t: t, nodes: make([]Node, len(t.Tasks))}
	for i := range t.Tasks {
		b.nodes[i] = Node{Title: t.Tasks[i].Title, Files: slices.Clone(t.Tasks[i].Files), Tests: slices.Clone(t.Tasks[i].Tests)}
	}
	b.attach()
	for i := range b.nodes {
		files, tests = append(files, b.nodes[i].Files), append(tests, b.nodes[i].Tests)
	}
	return files, tests
}

func shifted(list []int, by int) []int {
	out := make([]int, len(list))
	for i := range list {
		out[i] = list[i] + by
	}
	return out
}
