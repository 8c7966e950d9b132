package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

func newStatusCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show where a plan stands",
		Long: `Show where a plan stands: its steps, sandboxes, checkpoints, applies, what runs in it
now, and what can be done next. Without PLAN: the newest plan that covers this directory.`,
		Args:              planArg,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStatus(cmd.Context(), d, first(args))
		},
	}
}

// statusObject is the JSON of status.
type statusObject struct {
	Plan *engine.Plan   `json:"plan"`
	Live []engine.Entry `json:"live"`
	Next []string       `json:"next"`
}

func runStatus(ctx context.Context, d *deps, ref string) error {
	t, err := d.find(ctx, ref)
	if err != nil {
		return err
	}
	live, err := t.svc.Live(ctx, t.plan.ID)
	if err != nil {
		return err
	}
	next := nextCommands(t.plan)
	if d.json {
		v := statusObject{Plan: t.plan, Live: live, Next: []string{}}
		if v.Live == nil {
			v.Live = []engine.Entry{}
		}
		for _, n := range next {
			v.Next = append(v.Next, n[0])
		}
		return d.emit(v, exitDone)
	}
	var b strings.Builder
	d.writeStatus(&b, t.plan, live)
	width := 0
	for _, n := range next {
		width = max(width, textWidth(n[0]))
	}
	for i, n := range next {
		head := "next        "
		if i > 0 {
			head = "            "
		}
		fmt.Fprintf(&b, "%s%s  %s\n", head, pad(n[0], width), n[1])
	}
	_, err = io.WriteString(d.stdout, b.String())
	return err
}

func (d *deps) writeStatus(b *strings.Builder, p *engine.Plan, live []engine.Entry) {
	st := d.styleFor(d.stdout)
	now := d.now()
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%s%s\n", pad(name, 12), fmt.Sprintf(format, args...))
	}
	row("plan", "%s  %s", st.bold(p.ID), paintStatus(st, p.Status, string(p.Status)))
	row("what", "%s", visible(title(p)))
	if p.Ticket != nil && p.Ticket.Path != "" {
		row("ticket", "%s", visible(p.Ticket.Path))
	}
	row("made", "%s ago in %s", age(now.Sub(p.CreatedAt)), visible(p.Cwd))
	for i, path := range p.Scope {
		name := ""
		if i == 0 {
			name = "scope"
		}
		row(name, "%s", visible(path))
	}
	for _, s := range p.Sandboxes {
		line := fmt.Sprintf("%s  %s", s.Strategy, visible(s.Resource.Path))
		if s.Lower != "" {
			line += "  over a " + string(s.Lower) + " tree"
		}
		row("sandbox", "%s", line)
		if s.Reason != "" {
			row("", "%s", st.dim(visible(s.Reason)))
		}
		for _, n := range s.Notices {
			row("", "%s", st.dim(visible(n)))
		}
	}
	switch {
	case p.Rung == engine.RungNone || p.Options.Confine == engine.RungNone:
		row("boundary", "%s", st.red("none — commands run NOT CONFINED, as you asked"))
	case p.Proof != nil:
		row("boundary", "%s", visible(strings.TrimPrefix(proofLine(*p.Proof), "boundary: ")))
	case p.Rung != "":
		row("boundary", "%s (%s)", p.Rung, visible(p.RungWhy))
	}
	for i, s := range p.Steps {
		name := ""
		if i == 0 {
			name = "steps"
		}
		row(name, "%s", stepLine(st, s, now))
	}
	name := "checkpoints"
	var own []string // those of the steps: their names in short, which restore-checkpoint takes
	for _, c := range p.Checkpoints {
		if moment, step, ok := strings.Cut(c.Name, ":"); ok && c.Auto {
			own = append(own, visible(moment)+":"+label(step))
			continue
		}
		row(name, "%s  %s", visible(strings.TrimPrefix(c.Name, "hand:")), st.dim(age(now.Sub(c.At))+" ago"))
		name = ""
	}
	if len(own) > 0 {
		row(name, "%s", strings.Join(own, " "))
	}
	for _, a := range p.Applies {
		row("apply", "%s  %s to %s, %s ago: %s", a.ID, a.Status, a.To, age(now.Sub(a.At)), visible(a.Summary))
	}
	for _, l := range live {
		row("live", "%s  pid %d, for %s", visible(l.Name), l.PID, age(now.Sub(l.Since)))
	}
	for _, n := range p.Notices {
		row("note", "%s", visible(n))
	}
}

// mark is a step's state as one sign.
func mark(st style, s engine.StepStatus) string {
	switch s {
	case engine.StepDone:
		return st.green("✓")
	case engine.StepFailed:
		return st.red("✗")
	case engine.StepRunning:
		return st.cyan("▸")
	case engine.StepSkipped, engine.StepCanceled:
		return st.dim("–")
	case engine.StepPending:
	}
	return st.dim("·")
}

// stepLine is a step in one line.
func stepLine(st style, s engine.Step, now time.Time) string {
	line := fmt.Sprintf("%s %s  %s", mark(st, s.Status), label(s.ID), visible(s.Title))
	switch s.Status {
	case engine.StepRunning:
		line += "  " + st.cyan(clock(now.Sub(s.StartedAt)))
	case engine.StepDone:
		if !s.EndedAt.IsZero() {
			line += "  " + st.dim(clock(s.EndedAt.Sub(s.StartedAt)))
		}
	case engine.StepFailed:
		why := s.Message
		if s.Exit != nil && s.Exit.Code != 0 {
			why = describeExit(*s.Exit)
		}
		line += "  " + st.red(visible(why))
	case engine.StepSkipped:
		line += "  " + st.dim(visible(skippedFor(s)))
	case engine.StepCanceled:
		line += "  " + st.dim("cancelled in the ticket")
	case engine.StepPending:
	}
	return line
}

func skippedFor(s engine.Step) string {
	if s.SkippedFor != "" {
		return "skipped because of " + label(s.SkippedFor)
	}
	return s.Message
}

// nextCommands are the commands that make sense in a plan's state.
func nextCommands(p *engine.Plan) [][2]string {
	diff := [2]string{"ambit diff " + p.ID, "see the change"}
	apply := [2]string{"ambit apply " + p.ID, "carry it into " + resourcePaths(p)}
	discard := [2]string{"ambit discard " + p.ID, "throw it away"}
	resume := [2]string{"ambit run --resume " + p.ID, "run the steps that are not done"}
	switch p.Status {
	case engine.PlanReview:
		return [][2]string{diff, apply, discard}
	case engine.PlanReady:
		return [][2]string{resume, discard}
	case engine.PlanFailed, engine.PlanInterrupted:
		out := [][2]string{{"ambit logs " + p.ID, "see what the last step said"}, diff, discard}
		if p.Kind != "run" {
			return out
		}
		if slices.ContainsFunc(p.Steps, func(s engine.Step) bool { return s.Status == engine.StepDone && s.Runs > 0 }) {
			out = slices.Insert(out, 2, [2]string{"ambit apply " + p.ID, "carry what the steps that ended well did; the rest then stays undone"})
		}
		return append([][2]string{resume}, out...)
	case engine.PlanApplied:
		return [][2]string{{"ambit undo " + p.ID, "reverse the apply"}}
	case engine.PlanUndone:
		return [][2]string{diff, apply, discard}
	case engine.PlanDiscarded:
		return [][2]string{{"ambit restore " + p.ID, "bring it back"}}
	case engine.PlanApplying, engine.PlanUndoing:
		return [][2]string{{"ambit recover " + p.ID, "if no ambit is at work on it any more"}}
	case engine.PlanRunning:
		return [][2]string{{"ambit logs -f " + p.ID, "follow its output"}}
	case engine.PlanStaging:
		return [][2]string{{"ambit recover " + p.ID, "if no ambit is at work on it any more"}}
	}
	return nil
}

// clock is a duration as a person reads it while something runs: 0.4s, 12s, 3:05, 1:02:03.
func clock(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}
