package ticket

import (
	"fmt"
	"slices"

	"github.com/ambit-run/ambit/fault"
)

// Source is one file of a plan that is made of several.
type Source struct {
	Name string // as Parse takes it
	Data []byte
}

// ParseAll reads several files as one ticket: a folder of tickets, or of Backlog.md
// tasks. name is that of the folder.
//
// Each file becomes a task of the whole, with the file's own tasks nested in it, so
// that one file waits for another by its id: in `depends_on` of front matter, in
// the clause of a step, or as the parent in Backlog.md. Ids of steps begin with the
// id of their file. What depends on an id that none of the files has is kept as
// something the whole waits for. Files without a step and without an id of their
// own, such as a README, are passed over with a note.
//
// An id that two files have is an error that names both, with lines. Diagnostics
// name the file they are about. Sources and results are as with Parse; the literal
// grammar reads one file at a time and is refused.
func ParseAll(name string, sources []Source, opts Options) (*Ticket, []fault.Diagnostic) {
	rep := &report{file: name}
	whole := &Ticket{File: name, ID: idFromName(name), Format: FormatAmbit}
	if opts.ID != "" {
		whole.ID = opts.ID
	}
	whole.Objective = whole.ID
	if opts.Grammar == GrammarLiteral {
		rep.err(0, 0, finding{code: fault.Unsupported, summary: "the literal grammar reads one ticket, not a folder", hint: "leave out --grammar literal"})
		return whole, rep.done()
	}
	opts.ID, opts.Objective, opts.together = "", "", true
	j := &joiner{whole: whole, rep: rep, byID: map[string]int{}, used: map[string]bool{}}
	found := j.read(sources, opts)
	if len(j.files) == 0 {
		rep.err(0, 0, finding{summary: "no ticket among " + count(len(sources), "file"), hint: "a ticket is a Markdown file with boxes: `- [ ] text`"})
	}
	j.join()
	return whole, append(found, rep.done()...)
}

// joiner makes one ticket of several.
type joiner struct {
	whole *Ticket
	rep   *report
	files []*Ticket
	byID  map[string]int  // place in files by folded id
	used  map[string]bool // prefixes of ids
	heads []int           // task of each file, in the whole
}

// read parses the files and settles whose ids are whose.
func (j *joiner) read(sources []Source, opts Options) (found []fault.Diagnostic) {
	parsed, findings := make([]*Ticket, len(sources)), make([][]fault.Diagnostic, len(sources))
	for i, s := range sources {
		t, ds := Parse(s.Name, s.Data, opts)
		parsed[i], findings[i] = t, ds
		if len(t.Tasks) == 0 && t.idLine == 0 && !fault.HasErrors(ds) {
			j.note(t, 1, "no ticket: it has neither a step nor an id in front matter; passed over")
			parsed[i], findings[i] = nil, nil
			continue
		}
		key := fold(t.ID)
		if k, twice := j.byID[key]; twice {
			first := parsed[k]
			j.rep.err(max(t.idLine, 1), 0, finding{
				file: t.File, summary: fmt.Sprintf("id %q is also that of %s:%d", clip(t.ID), first.File, max(first.idLine, 1)),
				detail: "what depends on it could mean either", hint: "give one of the two another id",
			})
			continue
		}
		j.byID[key] = i
	}
	for _, t := range parsed {
		if t != nil {
			opts.siblings = append(opts.siblings, t.ID)
		}
	}
	for i, t := range parsed {
		if t == nil {
			continue
		}
		if len(opts.siblings) > 1 && t.looksOutside(findings[i]) {
			parsed[i], findings[i] = Parse(sources[i].Name, sources[i].Data, opts) // now that the others are known
		}
		found = append(found, findings[i]...)
	}
	j.files, j.byID = nil, map[string]int{}
	for _, t := range outline(parsed) {
		j.byID[fold(t.ID)] = len(j.files)
		j.files = append(j.files, t)
	}
	return found
}

// looksOutside reports whether something in a ticket may name another one.
func (t *Ticket) looksOutside(ds []fault.Diagnostic) bool {
	return fault.HasErrors(ds) || slices.ContainsFunc(t.Tasks, func(k Task) bool {
		return slices.ContainsFunc(k.DependsOn, func(r Ref) bool { return r.Task == 0 })
	})
}

// join fills the whole from the files.
func (j *joiner) join() {
	w := j.whole
	read := map[string]int{}
	for _, t := range j.files {
		j.heads = append(j.heads, len(w.Tasks)+1)
		if read[t.Format]++; len(w.Tasks)+len(t.Tasks)+1 > MaxTasks {
			j.rep.err(1, 0, tooManyTasksIn(t.File))
			return
		}
		j.take(t)
	}
	for k, t := range j.files {
		j.connect(k, t)
	}
	w.Objective = fmt.Sprintf("%s of %s", count(len(j.files), "ticket"), w.ID)
	var names []string
	for _, f := range formats() {
		if n := read[f.name()]; n > 0 {
			w.Format = f.name()
			names = append(names, fmt.Sprintf("%s as %s", count(n, "file"), f.name()))
		}
	}
	if len(names) > 1 {
		w.Format = FormatAmbit
	}
	if w.FormatWhy = list(names...); read[FormatAmbit] < len(j.files) {
		j.rep.note(0, 0, finding{summary: "read " + w.FormatWhy})
	}
	j.request("project", &w.Project, func(t *Ticket) string { return t.Project })
	j.request("image", &w.Image, func(t *Ticket) string { return t.Image })
	j.request("network", &w.Network, func(t *Ticket) string { return t.Network })
}

func tooManyTasksIn(file string) finding {
	return finding{file: file, summary: fmt.Sprintf("with this file there are more than %d tasks", MaxTasks), hint: "run fewer tickets at a time"}
}

// connect makes a file wait for those it depends on, and its parent for it.
func (j *joiner) connect(k int, t *Ticket) {
	w := j.whole
	head := &w.Tasks[j.heads[k]-1]
	for _, id := range t.DependsOn {
		if other, ok := j.byID[fold(id)]; ok {
			head.DependsOn = append(head.DependsOn, Ref{Written: id, Task: j.heads[other], Line: t.dependsLine, Column: 1})
		} else {
			w.DependsOn = appendNew(w.DependsOn, id)
			j.rep.note(max(t.dependsLine, 1), 0, finding{
				file: t.File, summary: fmt.Sprintf("%s waits for %s, which is none of these tickets: the whole waits for it", t.ID, clip(id)),
				hint: "say --assume " + clip(id) + " if it is done",
			})
		}
	}
	if p, ok := j.byID[fold(t.parent)]; ok && t.parent != "" {
		head.Parent = j.heads[p]
		w.Tasks[head.Parent-1].Children = append(w.Tasks[head.Parent-1].Children, head.Index)
	}
	w.Scope = appendNew(w.Scope, t.Scope...)
	w.Resources = appendNew(w.Resources, t.Resources...)
	for i := head.Index; i < len(w.Tasks) && w.Tasks[i].File == t.File; i++ {
		for r := range w.Tasks[i].DependsOn {
			if ref := &w.Tasks[i].DependsOn[r]; ref.Task < 0 {
				ref.Task = j.heads[-1-ref.Task]
			}
		}
	}
}

// request takes what files ask for. Two that ask for different things cannot run
// in one plan.
func (j *joiner) request(key string, into *string, of func(*Ticket) string) {
	var from *Ticket
	for _, t := range j.files {
		v := of(t)
		switch {
		case v == "":
		case from == nil:
			*into, from = v, t
		case v != *into:
			j.rep.err(1, 0, finding{
				file: t.File, summary: fmt.Sprintf("%s: %q, and %q in %s", key, clip(v), clip(*into), from.File),
				detail: "tickets that run as one plan get one of it", hint: "run them apart, or let them ask for the same",
			})
		}
	}
}

func (j *joiner) note(t *Ticket, line int, summary string) {
	j.rep.note(line, 0, finding{file: t.File, summary: summary})
}
