package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// progress shows a run while it goes on.
type progress interface {
	observe(engine.Update) // an engine.Observer
	stop()                 // shows the end state and lets go of the terminal
}

// newProgress chooses the display: a live tree where stderr is a terminal that
// can draw and nothing else writes to it, plain lines elsewhere, nothing for JSON.
func (d *deps) newProgress(verbose, relayed bool) progress {
	term, _ := d.getenv("TERM")
	switch {
	case d.json:
		return silent{}
	case terminalOf(d.stderr) == nil || term == "dumb" || term == "" || verbose || relayed:
		return newPlain(d, verbose)
	}
	return newLive(d)
}

type silent struct{}

func (silent) observe(engine.Update) {}
func (silent) stop()                 {}

// failedLines is how many of a failed step's last lines are shown.
const failedLines = 20

// outputs keeps what is shown of the steps' output: the last lines of each.
type outputs struct {
	line  func(step, line string) // called for each complete line; may be nil
	steps map[string]*output
}

type output struct {
	cleaner lineCleaner
	tail    tail
}

func (o *outputs) of(step string) *output {
	if o.steps == nil {
		o.steps = map[string]*output{}
	}
	if out := o.steps[step]; out != nil {
		return out
	}
	out := &output{tail: tail{limit: failedLines}}
	out.cleaner.line = func(l string) {
		out.tail.add(l)
		if o.line != nil {
			o.line(step, l)
		}
	}
	o.steps[step] = out
	return out
}

// last is the newest line of a step that says anything, finished or not.
func (o *output) last() string {
	if l := strings.TrimSpace(o.cleaner.partial()); l != "" {
		return l
	}
	for i := len(o.tail.lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(o.tail.lines[i]); l != "" {
			return l
		}
	}
	return ""
}

// failure is the end of a failed step's output, for the person who wants to know why.
func (o *output) failure(st style, plan, step string) []string {
	o.cleaner.flush()
	var out []string
	if o.tail.lost > 0 {
		out = append(out, st.dim(fmt.Sprintf("    … %s before; ambit logs %s/%s shows all", plural(o.tail.lost, "line"), plan, label(step))))
	}
	for _, l := range o.tail.lines {
		out = append(out, "    "+l)
	}
	return out
}

// plain prints one line when a step starts and one when it ends.
type plain struct {
	d       *deps
	st      style
	notices *notices
	outputs outputs
	plan    string
	verbose bool
}

func newPlain(d *deps, verbose bool) *plain {
	p := &plain{d: d, st: d.styleFor(d.stderr), notices: d.newNotices(), verbose: verbose}
	if verbose {
		p.outputs.line = func(step, line string) { fmt.Fprintf(d.stderr, "%s | %s\n", label(step), line) }
	}
	return p
}

func (p *plain) observe(u engine.Update) {
	if u.Plan != nil {
		p.plan = u.Plan.ID
	}
	switch u.Kind {
	case engine.UpdateOutput:
		if u.Step != nil {
			_, _ = p.outputs.of(u.Step.ID).cleaner.Write([]byte(u.Text))
		}
	case engine.UpdateStep:
		if u.Step != nil {
			p.step(*u.Step, u.At)
		}
	case engine.UpdateNotice, engine.UpdateProof, engine.UpdateProgress:
		p.notices.observe(u)
	case engine.UpdatePlan:
	}
}

func (p *plain) step(s engine.Step, now time.Time) {
	if s.Status == engine.StepPending || s.Group {
		return
	}
	if s.Status == engine.StepRunning {
		fmt.Fprintf(p.d.stderr, "%s %s  %s\n", mark(p.st, s.Status), label(s.ID), visible(s.Title))
		return
	}
	p.outputs.of(s.ID).cleaner.flush()
	fmt.Fprintln(p.d.stderr, stepLine(p.st, s, now))
	if s.Status == engine.StepFailed && !p.verbose {
		for _, l := range p.outputs.of(s.ID).failure(p.st, p.plan, s.ID) {
			fmt.Fprintln(p.d.stderr, l)
		}
	}
}

func (p *plain) stop() {
	for _, o := range p.outputs.steps {
		o.cleaner.flush()
	}
}

// label is the short name of a step: the part before the words.
func label(id string) string {
	head, _, ok := strings.Cut(id, "-")
	if ok && len(head) > 1 && head[0] == 'n' && strings.Trim(head[1:], "0123456789") == "" {
		return head
	}
	return visible(id)
}
