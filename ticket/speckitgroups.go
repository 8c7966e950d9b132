package ticket

import (
	"slices"
	"strings"
)

// group is a run of ids in a line, and the tasks they stand for.
type group struct {
	span
	extent
	tasks []int // ascending; none of stories and phases
	wide  bool  // there are stories and phases among them
}

// extent is the first and the last of some tasks; 0 = none.
type extent struct{ first, last int }

func (e *extent) add(first, last int) {
	if first == 0 {
		return
	}
	if e.first == 0 || first < e.first {
		e.first = first
	}
	e.last = max(e.last, last)
}

// groups finds the ids in a line. missing: it names a task that is not there.
func (d *dependencyReader) groups(s string) (groups []group, missing bool) {
	for i := 0; i < len(s); {
		if i > 0 && (isLetter(s[i-1]) || isDigit(s[i-1])) || !isLetter(s[i]) {
			i++
			continue
		}
		tasks, over, wide, end, ok := d.one(s, i)
		if !ok {
			i++
			continue
		}
		missing = missing || !wide && len(tasks) == 0
		if n := len(groups); n == 0 || !joined(s[groups[n-1].end:i]) {
			groups = append(groups, group{span: span{i, end}})
		}
		g := &groups[len(groups)-1]
		g.end, g.wide = end, g.wide || wide
		g.add(over.first, over.last)
		g.tasks = append(g.tasks, tasks...)
		if n := len(tasks); n > 0 {
			g.add(slices.Min(tasks), slices.Max(tasks))
			d.named += n
		}
		i = end
	}
	for k := range groups {
		slices.Sort(groups[k].tasks)
		groups[k].tasks = slices.Compact(groups[k].tasks)
	}
	return groups, missing
}

// one reads one id at s[i:]: T001, T001-T004, US1, User Story 1, Phase 2. Of the
// latter it returns where their tasks begin and end.
func (d *dependencyReader) one(s string, i int) (tasks []int, over extent, wide bool, end int, ok bool) {
	if i+1 < len(s) && s[i]|0x20 == 't' && isDigit(s[i+1]) {
		ref, ok := oneID(s, i)
		if !ok {
			if ref, ok = bareLabel(s, i); !ok {
				return nil, over, false, 0, false
			}
		}
		ref = extendRange(s, ref)
		if ref.ends != nil {
			tasks, _ = d.x.between(ref.ends.from, ref.ends.to)
			return tasks, over, false, ref.end, true
		}
		l, ok := parseLabel(ref.text)
		if !ok || l.family != "t" {
			return nil, over, false, 0, false
		}
		if n, _ := d.x.find(ref.text); n > 0 {
			tasks = []int{n}
		}
		return tasks, over, false, ref.end, true
	}
	for _, w := range []string{"user story ", "user stories ", "us-", "us", "phases ", "phase "} {
		if hasPrefixFold(s[i:], w) {
			if n := leadingNumber(s[i+len(w):]); n != "" {
				d.collect()
				of := d.stories[n]
				if w[0] == 'p' {
					of = d.phases[n]
				}
				if of != nil {
					over = *of
				}
				return nil, over, true, i + len(w) + len(n), true
			}
		}
	}
	return nil, over, false, 0, false
}

// collect finds where the tasks of each story and phase begin and end.
func (d *dependencyReader) collect() {
	if d.stories != nil {
		return
	}
	d.stories, d.phases = map[string]*extent{}, map[string]*extent{}
	numbers := make([]string, len(d.heads)+1) // of the phase that a part lies in
	for k, h := range d.heads {
		numbers[k+1] = numbers[k]
		if p := phaseNumber(h.title); p != "" {
			numbers[k+1] = p
		} else if h.level <= 2 {
			numbers[k+1] = ""
		}
	}
	for i := range d.t.Tasks {
		t := &d.t.Tasks[i]
		for _, in := range []struct {
			of  map[string]*extent
			key string
		}{{d.stories, strings.TrimPrefix(strings.TrimPrefix(t.Story, "US"), "-")}, {d.phases, numbers[t.part]}} {
			if in.key == "" {
				continue
			}
			if in.of[in.key] == nil {
				in.of[in.key] = &extent{}
			}
			in.of[in.key].add(t.Index, t.Index)
		}
	}
}

// bareLabel reads T001 where a letter of another script follows, as in T008は.
func bareLabel(s string, i int) (idRef, bool) {
	end := i
	for end < len(s) && (isLetter(s[end]) || isDigit(s[end])) {
		end++
	}
	ref := idRef{text: s[i:end], start: i, end: end}
	_, ok := parseLabel(ref.text)
	return ref, ok
}

// joined reports whether what stands between two ids only lists them.
func joined(between string) bool {
	t := strings.Trim(between, " \t,;、，・()（）&+/*`~和及与跟と및과와")
	return t == "" || strings.EqualFold(t, "and") || strings.EqualFold(t, "or")
}

// apposed reports whether what follows two related ids is part of the second.
func apposed(between string) bool {
	return len(between) < 60 && !strings.ContainsAny(between, ".;|。；")
}
