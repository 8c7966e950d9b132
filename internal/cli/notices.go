package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// notices shows what the engine reports while it prepares a plan, one line each,
// on stderr.
type notices struct {
	d    *deps
	st   style
	last string // the phase whose progress was shown last
	long longWork
	// redraw shows a line that is replaced in place, "" clears it; nil where
	// nothing can be replaced.
	redraw func(text string)
}

// longWork is a phase that goes on.
type longWork struct {
	began, said time.Time
	drawn       bool
}

// When a phase that takes its time is spoken of again: at once in place, in a log
// only after a while.
const (
	redrawAfter = time.Second
	redrawEvery = 200 * time.Millisecond
	repeatEvery = 10 * time.Second
)

func (d *deps) newNotices() *notices {
	n := &notices{d: d, st: d.styleFor(d.stderr)}
	if v, _ := d.getenv("TERM"); terminalOf(d.stderr) != nil && v != "dumb" && v != "" {
		n.redraw = func(text string) {
			if text != "" {
				text = n.st.dim(fit(text, columns(d.stderr)-1))
			}
			fmt.Fprint(d.stderr, "\r\x1b[K"+text)
		}
	}
	return n
}

// observe is an engine.Observer.
func (n *notices) observe(u engine.Update) {
	if n.long.drawn && u.Kind != engine.UpdateProgress {
		n.long.drawn = false
		n.redraw("")
	}
	switch u.Kind {
	case engine.UpdateNotice:
		n.line(u.Text)
	case engine.UpdateProof:
		if u.Proof != nil {
			line := proofLine(*u.Proof)
			if age := u.At.Sub(u.Proof.At); !u.Proof.At.IsZero() && age > time.Minute {
				line += ", proved at " + u.Proof.At.Local().Format("15:04") + " and unchanged since"
			}
			n.line(line)
		}
	case engine.UpdateProgress:
		if u.Progress != nil {
			n.progress(*u.Progress, u.At)
		}
	case engine.UpdateStep, engine.UpdateOutput, engine.UpdatePlan:
	}
}

// progress says that a phase began, and, of one that takes long, how far it is.
func (n *notices) progress(p engine.Progress, at time.Time) {
	if p.Phase != n.last {
		if n.long.drawn {
			n.redraw("")
		}
		n.last, n.long = p.Phase, longWork{began: at, said: at}
		n.line(n.last + " …")
		return
	}
	if p.Done == 0 {
		return
	}
	switch {
	case n.redraw != nil:
		if at.Sub(n.long.began) >= redrawAfter && at.Sub(n.long.said) >= redrawEvery {
			n.long.said, n.long.drawn = at, true
			n.redraw("ambit: " + howFar(p))
		}
	case at.Sub(n.long.said) >= repeatEvery:
		n.long.said = at
		n.line(howFar(p))
	}
}

// howFar is "copy 1.2 GB of 3.7 GB, 32 %".
func howFar(p engine.Progress) string {
	show := func(n int64) string { return plural(int(n), strings.TrimSuffix(p.Unit, "s")) }
	if p.Unit == "bytes" {
		show = amount
	}
	if p.Total <= 0 || p.Done > p.Total {
		return p.Phase + " " + show(p.Done)
	}
	return fmt.Sprintf("%s %s of %s, %d %%", p.Phase, show(p.Done), show(p.Total), p.Done*100/p.Total)
}

// amount renders bytes for a person.
func amount(n int64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/u.size, u.name)
		}
	}
	return plural(int(n), "byte")
}

func (n *notices) line(text string) {
	fmt.Fprintln(n.d.stderr, n.st.dim("ambit: "+visible(text)))
}

// proofLine says in one line what the probe of the boundary found.
func proofLine(p engine.Proof) string {
	if p.Rung == engine.RungNone {
		return "boundary: none — commands run NOT CONFINED, as you asked"
	}
	ok, held, all := p.Proved()
	line := fmt.Sprintf("boundary: %s, proved %d/%d, network %s", p.Rung, held, all, p.Network)
	if ok {
		return line
	}
	var failed []string
	for _, l := range p.Lines {
		if !l.OK {
			failed = append(failed, fmt.Sprintf("%s (want %s, got %s)", l.Name, l.Want, l.Got))
		}
	}
	return line + "; NOT PROVED: " + strings.Join(failed, ", ")
}
