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
}

func (d *deps) newNotices() *notices { return &notices{d: d, st: d.styleFor(d.stderr)} }

// observe is an engine.Observer.
func (n *notices) observe(u engine.Update) {
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
		// Only that a phase began: long work is seldom, and a log wants no bar.
		if u.Progress != nil && u.Progress.Phase != n.last {
			n.last = u.Progress.Phase
			n.line(n.last + " …")
		}
	case engine.UpdateStep, engine.UpdateOutput, engine.UpdatePlan:
	}
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
