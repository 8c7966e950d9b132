package ticket

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// dependencyHeadings are words by which a heading says that the order of tasks is
// stated below it.
var dependencyHeadings = []string{"dependenc", "依存", "依赖", "依賴", "相依", "의존", "종속"}

// dependencySections reads the lines about tasks under headings such as
// "Dependencies & Execution Order".
func (l *linker) dependencySections() {
	d := dependencyReader{linker: l}
	for k, h := range l.heads {
		if !containsAny(strings.ToLower(h.title), dependencyHeadings) || d.upTo > h.line {
			continue
		}
		end := len(l.src.lines)
		for _, next := range l.heads[k+1:] {
			if next.level <= h.level {
				end = next.line - 1
				break
			}
		}
		for n := h.line + 1; n <= end; n++ {
			d.line(n, string(l.src.line(n)))
		}
		d.upTo = end
	}
	d.report()
}

// dependencyReader collects what the lines of such a section state.
type dependencyReader struct {
	*linker
	upTo      int
	unread    []int // lines that state an order that was not understood
	satisfied []int // lines about stories and phases that hold as the file stands
	against   []int // those that do not
	unknown   []int // lines that name a task which is not there

	stories, phases map[string]*extent // by number; nil = not collected yet
	named           int                // tasks that lines stood for so far
}

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

// relation says which of two groups waits for the other.
type relation int

const (
	relationNone relation = iota
	leftWaits
	rightWaits
	sideBySide
)

func (d *dependencyReader) line(n int, s string) {
	if len(s) > 4096 || d.named > MaxEdges || d.refs > MaxEdges || boxLike([]byte(s)) || strings.HasPrefix(strings.TrimSpace(s), "#") {
		return
	}
	groups, missing := d.groups(s)
	if missing && statesOrder(s) {
		d.unknown = append(d.unknown, n)
	}
	if len(groups) < 2 {
		if len(groups) == 1 && !groups[0].wide && statesOrder(s) {
			d.unread = append(d.unread, n)
		}
		return
	}
	read, last := false, relationNone
	left := groups[0]
	for k := 1; k < len(groups); k++ {
		right := groups[k]
		between, behind := s[groups[k-1].end:right.start], s[right.end:]
		if k+1 < len(groups) {
			behind = s[right.end:groups[k+1].start]
		}
		rel := relationOf(between, behind)
		switch {
		case rel == relationNone && last != relationNone && apposed(between):
			rel = last // "US2 depends on US1 (T010)": T010 is part of what US2 waits for
		case rel == relationNone:
			left, last = right, rel
			continue
		default:
			left = groups[k-1]
		}
		last = rel
		switch rel {
		case leftWaits:
			d.state(n, left, right)
		case rightWaits:
			d.state(n, right, left)
		case relationNone, sideBySide: // nothing waits
		}
		read = true
	}
	if !read && statesOrder(s) && slices.ContainsFunc(groups, func(g group) bool { return !g.wide }) {
		d.unread = append(d.unread, n)
	}
}

// state makes the tasks of one group wait for those of another. Of stories and
// phases it is only checked that they stand in that order: the file's order rules.
func (d *dependencyReader) state(n int, then, first group) {
	if then.first == 0 || first.first == 0 {
		return
	}
	if then.wide || first.wide || len(then.tasks)*len(first.tasks) > maxFan*maxFan {
		if first.last < then.first {
			d.satisfied = append(d.satisfied, n)
		} else {
			d.against = append(d.against, n)
		}
		return
	}
	for _, i := range then.tasks {
		if slices.Contains(first.tasks, i) {
			d.unread = append(d.unread, n) // a task before itself: something else is meant
			return
		}
	}
	why := Reason{Kind: ReasonDeclared, Line: n}
	d.t.Sequences = append(d.t.Sequences, Sequence{Declared: true, Batches: []Batch{{Tasks: first.tasks}, {Tasks: then.tasks, Why: why}}})
	d.refs += len(first.tasks) * len(then.tasks)
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

// orderWords are the words that put one thing before another, with the side that
// waits, where they stand between the two.
var orderWords = []struct {
	word string
	rel  relation
}{
	{"depends on", leftWaits},
	{"depend on", leftWaits},
	{"depends upon", leftWaits},
	{"requires", leftWaits},
	{"require", leftWaits},
	{"blocked by", leftWaits},
	{"waits for", leftWaits},
	{"wait for", leftWaits},
	{"needs", leftWaits},
	{"after", leftWaits},
	{"follows", leftWaits},
	{"blocks", rightWaits},
	{"block", rightWaits},
	{"blocking", rightWaits},
	{"before", rightWaits},
	{"precedes", rightWaits},
	{"precede", rightWaits},
	{"enables", rightWaits},
	{"unblocks", rightWaits},
	{"then", rightWaits},
	{"→", rightWaits},
	{"->", rightWaits},
	{"=>", rightWaits},
	{"⟶", rightWaits},
	{"➜", rightWaits},
	{"►", rightWaits},
	{"➔", rightWaits},
	{"←", leftWaits},
	{"<-", leftWaits},
	{"parallel", sideBySide},
	{"concurrently", sideBySide},
	{"independent", sideBySide},
	{"alongside", sideBySide},
	{"依赖于", leftWaits},
	{"依赖", leftWaits},
	{"依賴", leftWaits},
	{"需要", leftWaits},
	{"阻塞", rightWaits},
	{"阻止", rightWaits},
	{"阻擋", rightWaits},
	{"先于", rightWaits},
	{"早于", rightWaits},
	{"并行", sideBySide},
	{"並行", sideBySide},
	{"並列", sideBySide},
	{"병렬", sideBySide},
}

// behindWords do the same behind the second of the two, where the verb comes last.
// They are tried in turn: a longer one stands before one it contains.
var behindWords = []struct {
	word string
	rel  relation
}{
	{"に依存", leftWaits},
	{"をブロック", rightWaits},
	{"より前", rightWaits},
	{"の前", rightWaits},
	{"より先", rightWaits},
	{"より後", leftWaits},
	{"の後", leftWaits},
	{"에 의존", leftWaits},
	{"에 종속", leftWaits},
	{"을 차단", rightWaits},
	{"를 차단", rightWaits},
	{"을 블록", rightWaits},
	{"를 블록", rightWaits},
	{"을 막", rightWaits},
	{"를 막", rightWaits},
	{"보다 먼저", rightWaits},
	{"이전에", rightWaits},
	{"전에", rightWaits},
	{"이후에", leftWaits},
	{"다음에", leftWaits},
	{"후에", leftWaits},
	{"之前", rightWaits},
	{"以前", rightWaits},
	{"之后", leftWaits},
	{"之後", leftWaits},
	{"以后", leftWaits},
	{"並列", sideBySide},
	{"병렬", sideBySide},
	{"并行", sideBySide},
}

// relationOf reads the words between and behind two groups. Of several between
// them the last one counts: "all parallel after T004".
func relationOf(between, behind string) relation {
	lower := strings.ToLower(between)
	at, rel := -1, relationNone
	for _, w := range orderWords {
		if i := lastWord(lower, w.word); i > at {
			at, rel = i, w.rel
		}
	}
	if rel != relationNone {
		return rel
	}
	if len(behind) > 120 {
		behind = behind[:120]
	}
	first := len(behind)
	for _, w := range behindWords {
		if i := strings.Index(behind, w.word); i >= 0 && i < first {
			first, rel = i, w.rel
		}
	}
	return rel
}

// lastWord returns where a word stands last in a text, not inside of a longer one.
func lastWord(s, word string) int {
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], word)
		if i < 0 {
			return -1
		}
		if word[0] >= utf8.RuneSelf || !isLetter(word[0]) ||
			(i == 0 || !isLetter(s[i-1])) && (i+len(word) == len(s) || !isLetter(s[i+len(word)])) {
			return i
		}
		end = i + len(word) - 1
	}
}

// statesOrder reports whether a line has a word in it that puts things in order.
func statesOrder(s string) bool {
	lower := strings.ToLower(s)
	for _, w := range orderWords {
		if w.rel != sideBySide && w.word != "then" && w.word != "needs" && lastWord(lower, w.word) >= 0 {
			return true
		}
	}
	for _, w := range behindWords {
		if w.rel != sideBySide && strings.Contains(s, w.word) {
			return true
		}
	}
	return false
}

func (d *dependencyReader) report() {
	notes := func(lines []int, f finding) {
		if lines = slices.Compact(lines); len(lines) > 0 {
			f.summary = fmt.Sprintf(f.summary, count(len(lines), "line"))
			f.detail = lineList(lines)
			d.rep.note(lines[0], 0, f)
		}
	}
	notes(d.satisfied, finding{summary: "%s about stories and phases: the file has them in that order, and so they run"})
	notes(d.unread, finding{
		summary: "%s about the order of tasks not understood", hint: "write `T010 depends on T008, T009`, or `T008 before T010`",
	})
	warns := func(lines []int, f finding) {
		if lines = slices.Compact(lines); len(lines) > 0 {
			f.summary = fmt.Sprintf(f.summary, count(len(lines), "line"))
			f.detail = lineList(lines)
			d.rep.warn(lines[0], 0, f)
		}
	}
	warns(d.against, finding{
		summary: "%s against the order of the file: phases run as they stand in it", hint: "move the phase, or name tasks: `T010 depends on T020`",
	})
	warns(d.unknown, finding{summary: "%s about a task that is not in the file"})
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
