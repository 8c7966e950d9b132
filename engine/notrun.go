package engine

import (
	"fmt"
	"strings"
)

// NotRun are the steps of a ticket's plan that have still to run, groups and what
// the ticket cancelled aside. A step that ran and failed is none of them.
func (p *Plan) NotRun() []string {
	var ids []string
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Group || p.Kind != "run" {
			continue
		}
		switch s.Status {
		case StepPending, StepRunning, StepSkipped:
			ids = append(ids, s.ID)
		case StepDone, StepFailed, StepCanceled:
		}
	}
	return ids
}

// NotRunNotice says before an apply that steps are missing; "" when none are.
func (p *Plan) NotRunNotice() string {
	ids := p.NotRun()
	if len(ids) == 0 {
		return ""
	}
	all := 0
	for i := range p.Steps {
		if !p.Steps[i].Group {
			all++
		}
	}
	names := strings.Join(ids[:min(len(ids), 5)], ", ")
	if len(ids) > 5 {
		names += ", …"
	}
	return fmt.Sprintf("%d of %d steps have not run (%s), and an applied plan cannot be resumed", len(ids), all, names)
}
