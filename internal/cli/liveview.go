package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// liveView is what a live tree shows, as data: it turns steps into lines and
// does no I/O.
type liveView struct {
	st    style
	plan  string
	steps []engine.Step
	last  map[string]string // the newest line of output, by step
	frame int
	busy  string // what goes on before the steps, and how far it is
	over  bool   // the run has ended: everything is shown once, without a window
}

// viewLine is one line with its width in columns, which its colours hide.
type viewLine struct {
	text  string
	width int
}

// follow takes over the steps of a plan when it is first seen.
func (v *liveView) follow(p *engine.Plan) {
	if v.last == nil {
		v.last = map[string]string{}
	}
	if v.plan == p.ID {
		return
	}
	v.plan = p.ID
	v.steps = append([]engine.Step(nil), p.Steps...)
}

// update takes over one step's state.
func (v *liveView) update(s engine.Step) {
	if v.last == nil {
		v.last = map[string]string{}
	}
	for i := range v.steps {
		if v.steps[i].ID == s.ID {
			v.steps[i] = s
			return
		}
	}
	v.steps = append(v.steps, s)
}

var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// lines renders the steps for a terminal of the given size, never wider and
// never higher than it leaves room for.
func (v *liveView) lines(now time.Time, width, height int) []viewLine {
	if v.busy != "" {
		return []viewLine{v.plainLine(v.busy, width)}
	}
	if len(v.steps) == 0 {
		return nil
	}
	from, to := 0, len(v.steps)
	if room := max(3, height-2); !v.over && to > room {
		from, to = v.window(room)
	}
	var out []viewLine
	if from > 0 {
		out = append(out, v.plainLine(fmt.Sprintf("  … %d before", from), width))
	}
	for i := from; i < to; i++ {
		out = append(out, v.line(v.steps[i], now, width-1))
	}
	if rest := len(v.steps) - to; rest > 0 {
		out = append(out, v.plainLine(fmt.Sprintf("  … %d more", rest), width))
	}
	return out
}

// window chooses which steps are shown where there is no room for all: those
// around the first that is not done. Two rows go to what is left out.
func (v *liveView) window(room int) (from, to int) {
	at := 0
	for at < len(v.steps) && v.steps[at].Status != engine.StepRunning && v.steps[at].Status != engine.StepPending {
		at++
	}
	room -= 2
	from = max(0, at-room/2)
	to = min(len(v.steps), from+room)
	return max(0, to-room), to
}

func (v *liveView) plainLine(text string, width int) viewLine {
	text = fit(text, width-1)
	return viewLine{v.st.dim(text), textWidth(text)}
}

// line renders one step: sign, label, title, time, and while it runs the last
// line of its output in what room is left.
func (v *liveView) line(s engine.Step, now time.Time, width int) viewLine {
	sign := mark(v.st, s.Status)
	if s.Status == engine.StepRunning && !v.over {
		sign = v.st.cyan(spinner[v.frame%len(spinner)])
	}
	name := fit(label(s.ID), width-2)
	left := width - 2 - textWidth(name) - 2 // for title and tail, with the blanks between them
	title, tail, paint := visible(s.Title), "", v.st.dim
	switch s.Status {
	case engine.StepRunning:
		tail = clock(now.Sub(s.StartedAt))
	case engine.StepDone:
		if !s.EndedAt.IsZero() {
			tail = clock(s.EndedAt.Sub(s.StartedAt))
		}
	case engine.StepFailed:
		tail, paint = s.Message, v.st.red
		if s.Exit != nil && s.Exit.Code != 0 {
			tail = describeExit(*s.Exit)
		}
		tail = visible(tail)
	case engine.StepSkipped:
		tail = visible(skippedFor(s))
	case engine.StepCanceled:
		tail = "cancelled in the ticket"
	case engine.StepPending:
	}
	if tail = fit(tail, min(left, max(8, left/2))); tail != "" {
		left -= textWidth(tail) + 2
	}
	title = fit(title, left)
	var b strings.Builder
	used := 2 + textWidth(name)
	b.WriteString(sign + " " + v.st.bold(name))
	for _, part := range []struct {
		text  string
		paint func(string) string
	}{{title, func(t string) string { return t }}, {tail, paint}} {
		if part.text != "" {
			b.WriteString("  " + part.paint(part.text))
			used += 2 + textWidth(part.text)
		}
	}
	if s.Status == engine.StepRunning && !v.over {
		if last := fit(v.last[s.ID], width-used-2); last != "" && width-used-2 >= 8 {
			b.WriteString("  " + v.st.dim(last))
			used += 2 + textWidth(last)
		}
	}
	return viewLine{b.String(), used}
}
