package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

type psOptions struct {
	all  bool
	here bool
}

func newPsCmd(d *deps) *cobra.Command {
	o := &psOptions{}
	cmd := &cobra.Command{
		Use:   "ps [flags]",
		Short: "List plans",
		Long: `List the plans that wait for something, newest first. --all adds those that are
applied and those in the trash.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPs(cmd.Context(), d, o) },
	}
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "with applied and discarded plans")
	cmd.Flags().BoolVar(&o.here, "here", false, "only plans that cover the current directory")
	return cmd
}

// livePlans are the states that wait for something.
var livePlans = []engine.PlanStatus{
	engine.PlanStaging, engine.PlanReady, engine.PlanRunning, engine.PlanReview, engine.PlanFailed,
	engine.PlanInterrupted, engine.PlanApplying, engine.PlanUndoing, engine.PlanUndone,
}

// plansObject is the JSON of ps.
type plansObject struct {
	Plans []*engine.Plan `json:"plans"`
}

func runPs(ctx context.Context, d *deps, o *psOptions) error {
	var q engine.PlanQuery
	if !o.all {
		q.Status = livePlans
	}
	if o.here {
		dir, _, err := d.place()
		if err != nil {
			return err
		}
		q.Covers = dir
	}
	svc, err := d.service(ctx)
	if err != nil {
		return err
	}
	plans, err := svc.Plans(ctx, q)
	if err != nil {
		return err
	}
	if d.json {
		if plans == nil {
			plans = []*engine.Plan{}
		}
		return d.emit(plansObject{plans}, exitDone)
	}
	if len(plans) == 0 {
		what := "no plan waits for anything"
		if o.all {
			what = "no plans"
		}
		fmt.Fprintln(d.stderr, what+"; ambit try -- CMD makes one")
		return nil
	}
	return d.table(plans)
}

// table lists plans in columns; the last ones share what the terminal leaves.
func (d *deps) table(plans []*engine.Plan) error {
	st := d.styleFor(d.stdout)
	rows := [][5]string{{"PLAN", "STATUS", "AGE", "WHERE", "WHAT"}}
	for _, p := range plans {
		rows = append(rows, [5]string{p.ID, string(p.Status), age(d.now().Sub(p.CreatedAt)), resourcePaths(p), visible(title(p))})
	}
	var widths [4]int
	for _, r := range rows {
		for i := range widths {
			widths[i] = max(widths[i], textWidth(r[i]))
		}
	}
	whole := terminalOf(d.stdout) == nil
	if !whole {
		widths[3] = min(widths[3], 40)
	}
	for i, r := range rows {
		where, what := r[3], r[4]
		if !whole {
			where = ellipsisMiddle(where, widths[3])
			what = fit(what, columns(d.stdout)-widths[0]-widths[1]-widths[2]-widths[3]-8)
		}
		status := pad(r[1], widths[1])
		if i == 0 {
			where, what = st.dim(pad(where, widths[3])), st.dim(what)
			fmt.Fprintf(d.stdout, "%s  %s  %s  %s  %s\n", st.dim(pad(r[0], widths[0])), st.dim(status), st.dim(pad(r[2], widths[2])), where, what)
			continue
		}
		line := fmt.Sprintf("%s  %s  %s  %s  %s", st.bold(pad(r[0], widths[0])), paintStatus(st, plans[i-1].Status, status), pad(r[2], widths[2]), pad(where, widths[3]), what)
		if _, err := fmt.Fprintln(d.stdout, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func paintStatus(st style, s engine.PlanStatus, text string) string {
	switch s {
	case engine.PlanReview, engine.PlanReady:
		return st.cyan(text)
	case engine.PlanFailed:
		return st.red(text)
	case engine.PlanInterrupted, engine.PlanApplying, engine.PlanUndoing, engine.PlanStaging:
		return st.yellow(text)
	case engine.PlanApplied, engine.PlanRunning:
		return st.green(text)
	case engine.PlanUndone, engine.PlanDiscarded:
		return st.dim(text)
	}
	return text
}

func title(p *engine.Plan) string {
	if p.Kind == "try" {
		return "try " + p.Title
	}
	return p.Title
}

// planLine is a plan in one line.
func planLine(st style, p *engine.Plan, now time.Time) string {
	return fmt.Sprintf("%s  %s  %s old  %s", st.bold(p.ID), paintStatus(st, p.Status, string(p.Status)), age(now.Sub(p.CreatedAt)), visible(title(p)))
}

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}
