package changeset

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// MergeText joins two line-wise edits of one text. It is clean only where the
// two touch no common and no neighbouring lines, or made the very same of them;
// else ok is false and nothing is returned: no half-merged text, no conflict
// markers ever exist. Line endings and bytes that are no UTF-8 stay as they are.
func MergeText(base, ours, theirs string) (merged string, ok bool) {
	switch {
	case ours == theirs, theirs == base:
		return ours, true
	case ours == base:
		return theirs, true
	}
	lines := splitLines(base)
	m := merger{base: lines, x: side{splitLines(ours), nil}, y: side{splitLines(theirs), nil}}
	m.x.edits, m.y.edits = diffLines(lines, m.x.lines), diffLines(lines, m.y.lines)
	return m.run()
}

// side is one changed text and what leads to it from the base.
type side struct {
	lines []string
	edits []lcs.Diff
}

type merger struct {
	base []string
	x, y side
	out  strings.Builder
}

func (m *merger) run() (string, bool) {
	pos := 0
	for len(m.x.edits) > 0 || len(m.y.edits) > 0 {
		gx, gy := m.together()
		from, to := covered(m.x.edits[:gx], m.y.edits[:gy])
		m.write(m.base[pos:from])
		a, b := m.rewritten(&m.x, from, to, gx), m.rewritten(&m.y, from, to, gy)
		switch {
		case gy == 0, gx > 0 && a == b:
			m.out.WriteString(a)
		case gx == 0:
			m.out.WriteString(b)
		default:
			return "", false
		}
		pos = to
	}
	m.write(m.base[pos:])
	return m.out.String(), true
}

func (m *merger) write(lines []string) {
	for _, l := range lines {
		m.out.WriteString(l)
	}
}

// together counts how many of the next edits of each side belong together: they
// overlap or touch, directly or through one another.
func (m *merger) together() (gx, gy int) {
	x, y := m.x.edits, m.y.edits
	if len(y) == 0 || len(x) > 0 && x[0].Start <= y[0].Start {
		gx = 1
	} else {
		gy = 1
	}
	for {
		_, to := covered(x[:gx], y[:gy])
		switch {
		case gx < len(x) && x[gx].Start <= to:
			gx++
		case gy < len(y) && y[gy].Start <= to:
			gy++
		default:
			return gx, gy
		}
	}
}

// covered is the part of the base that the edits of both sides cover.
func covered(x, y []lcs.Diff) (from, to int) {
	from = -1
	for _, edits := range [][]lcs.Diff{x, y} {
		for _, e := range edits {
			if from < 0 || e.Start < from {
				from = e.Start
			}
			to = max(to, e.End)
		}
	}
	return from, to
}

// rewritten is what a side made of base[from:to]; it uses up its next n edits.
func (m *merger) rewritten(s *side, from, to, n int) string {
	var b strings.Builder
	for _, e := range s.edits[:n] {
		b.WriteString(strings.Join(m.base[from:e.Start], ""))
		b.WriteString(strings.Join(s.lines[e.ReplStart:e.ReplEnd], ""))
		from = e.End
	}
	s.edits = s.edits[n:]
	b.WriteString(strings.Join(m.base[from:to], ""))
	return b.String()
}
