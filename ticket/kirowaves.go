package ticket

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// waveTable is Kiro's "Task Dependency Graph".
type waveTable struct {
	Waves []tableWave `json:"waves"`
}

type tableWave struct {
	ID    *int              `json:"id"`
	Wave  *int              `json:"wave"`
	Tasks []json.RawMessage `json:"tasks"` // "1.1", also 1
}

// number is what orders the waves.
func (w tableWave) number() int {
	switch {
	case w.ID != nil:
		return *w.ID
	case w.Wave != nil:
		return *w.Wave
	}
	return 0
}

// waves reads the table of waves of the file, if there is one, and makes it the
// order of the steps. It reports false if the list has to be the order.
func (l *linker) waves() bool {
	from, to := l.waveBlock()
	if from == 0 {
		return false
	}
	first := l.src.lines[from]
	var table waveTable
	text := l.src.text[first:l.src.lines[to-1]]
	if err := json.Unmarshal(text, &table); err != nil || len(table.Waves) == 0 {
		f := finding{summary: "the table of waves cannot be read: the list is the order", hint: `write {"waves": [{"id": 0, "tasks": ["1.1", "1.3"]}]}`}
		if err != nil {
			f.detail = clip(err.Error())
		}
		l.rep.warn(from, 0, f)
		return false
	}
	slices.SortStableFunc(table.Waves, func(a, b tableWave) int { return cmp.Compare(a.number(), b.number()) })
	wave := make([]int, len(l.t.Tasks)+1) // of each task, from 1; 0 = in none
	s := Sequence{}
	for k, w := range table.Waves {
		b := Batch{Why: Reason{Kind: ReasonWave, Line: from, Text: fmt.Sprintf("wave %d", w.number())}}
		for _, raw := range w.Tasks {
			if task := l.inWave(from, strings.Trim(string(raw), `" `)); task > 0 {
				if wave[task] > 0 {
					l.rep.warn(from, 0, finding{summary: fmt.Sprintf("the table of waves has %q twice: the first one counts", l.t.Tasks[task-1].Label)})
					continue
				}
				wave[task] = k + 1
				if len(l.t.Tasks[task-1].Children) == 0 { // a parent waits for its children
					b.Tasks = append(b.Tasks, task)
				}
			}
		}
		slices.Sort(b.Tasks)
		if len(b.Tasks) > 0 {
			s.Batches = append(s.Batches, b)
		}
	}
	l.t.Sequences = append(l.t.Sequences, s)
	l.checkWaves(from, wave)
	l.outsideWaves(from, wave)
	return true
}

// waveBlock returns the lines of the fence around a JSON block with "waves" in it;
// 0 if there is none.
func (l *linker) waveBlock() (from, to int) {
	mark, has := "", false
	for n := 1; n <= len(l.src.lines); n++ {
		if l.src.lines[n-1] < l.src.body {
			continue
		}
		line := bytes.TrimLeft(l.src.line(n), " \t>")
		switch {
		case mark == "" && len(line) > 2 && (line[0] == '`' || line[0] == '~'):
			mark, from, has = fenceMark(line), n, false
		case mark != "" && bytes.HasPrefix(line, []byte(mark)) && len(bytes.Trim(line, "`~ \t")) == 0:
			if has {
				return from, n
			}
			mark = ""
		case mark != "":
			has = has || bytes.Contains(line, []byte(`"waves"`))
		}
	}
	return 0, 0
}

func (l *linker) inWave(line int, id string) int {
	task, ok := l.x.find(id)
	switch {
	case !ok:
		l.rep.warn(line, 0, finding{
			summary: fmt.Sprintf("the table of waves names %q, and no task carries that number", clip(id)),
			hint:    "bring the table up to date",
		})
	case task == 0:
		l.x.used[fold(id)] = true
		l.rep.err(line, 0, finding{
			summary: fmt.Sprintf("the table of waves names %q, which stands before %d tasks", clip(id), len(l.x.several[fold(id)])),
			hint:    "give each task a number of its own",
		})
	}
	return task
}

// checkWaves compares declared dependencies with the table. The table is the order:
// a dependency on a later wave is dropped, one within a wave is kept.
func (l *linker) checkWaves(line int, wave []int) {
	for i := range l.t.Tasks {
		t := &l.t.Tasks[i]
		t.DependsOn = slices.DeleteFunc(t.DependsOn, func(r Ref) bool {
			if r.Task == 0 || wave[t.Index] == 0 || wave[r.Task] == 0 || wave[r.Task] < wave[t.Index] {
				return false
			}
			later := wave[r.Task] > wave[t.Index]
			f := finding{
				summary: fmt.Sprintf("%s waits for %s, which the table of waves has in the same wave", name(t), name(&l.t.Tasks[r.Task-1])),
				detail:  fmt.Sprintf("the table is in line %d; the dependency is kept", line),
				hint:    "change one of the two",
			}
			if later {
				f.summary = fmt.Sprintf("%s waits for %s, which the table of waves has in a later wave", name(t), name(&l.t.Tasks[r.Task-1]))
				f.detail = fmt.Sprintf("the table is in line %d; it is the order, and the dependency is not used", line)
			}
			l.rep.warn(r.Line, r.Column, f)
			return later
		})
	}
}

// outsideWaves orders the steps that stand in no wave: each waits for the steps
// before it at its level of the list, back to the last such step.
func (l *linker) outsideWaves(line int, wave []int) {
	var lines []int
	byLevel := map[int][]int{} // by parent: what a step outside has to wait for
	for i := range l.t.Tasks {
		t := &l.t.Tasks[i]
		before := byLevel[t.Parent]
		if wave[t.Index] > 0 || len(t.Children) > 0 {
			byLevel[t.Parent] = append(before, t.Index)
			continue
		}
		byLevel[t.Parent] = []int{t.Index}
		if t.State == StateTodo || t.State == StateDoing {
			lines = append(lines, t.Line)
		}
		if len(before) > 0 {
			why := Reason{Kind: ReasonList}
			l.t.Sequences = append(l.t.Sequences, Sequence{Batches: []Batch{{Tasks: before}, {Tasks: []int{t.Index}, Why: why}}})
		}
	}
	if len(lines) > 0 {
		l.rep.note(line, 0, finding{
			summary: count(len(lines), "step") + " not in the table of waves: each waits for those before it in the list",
			detail:  lineList(lines),
		})
	}
}

// name returns how a person calls a task.
func name(t *Task) string {
	if t.Label != "" {
		return t.Label
	}
	return fmt.Sprintf("n%02d", t.Index)
}
