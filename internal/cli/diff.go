package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
)

type diffOptions struct {
	ref      string
	files    []string
	step     string
	only     []string
	ignored  bool
	stat     bool
	summary  bool
	nameOnly bool
	exitCode bool
}

func newDiffCmd(d *deps) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff [PLAN] [flags] [-- FILE…]",
		Short: "Show everything that a plan would change",
		Long: `Show everything that a plan would change, in every resource.
On a terminal: a summary, then the diff, through your pager. Into a pipe or file: a
patch that git apply takes. PLAN is the newest plan that covers this directory,
unless you name one; PLAN/STEP shows one step alone.`,
		Example: `  ambit diff
  ambit diff --stat
  ambit diff --only '**/*.go' > change.patch`,
		Args:              planAndFiles,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclusive(cmd, "stat", "summary", "name-only"); err != nil {
				return err
			}
			before, files := split(cmd, args)
			o.ref, o.files = first(before), files
			return runDiff(cmd.Context(), d, o)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&o.stat, "stat", false, "one line per file, with counts")
	fl.BoolVar(&o.summary, "summary", false, "only the summary")
	fl.BoolVar(&o.nameOnly, "name-only", false, "only the names of changed paths")
	fl.StringVar(&o.step, "step", "", "only what this `STEP` changed")
	fl.StringArrayVar(&o.only, "only", nil, "only paths that match this `GLOB`; repeatable")
	fl.BoolVar(&o.ignored, "ignored", false, "with the paths that the resource ignores")
	fl.BoolVar(&o.exitCode, "exit-code", false, "exit with 8 if there is anything to review")
	return cmd
}

// reviewedSet is one sandbox's changes in JSON.
type reviewedSet struct {
	Sandbox string         `json:"sandbox"`
	Set     *changeset.Set `json:"set"`
}

// diffObject is the JSON of diff.
type diffObject struct {
	Plan     string             `json:"plan"`
	Status   engine.PlanStatus  `json:"status"`
	Step     string             `json:"step"`
	Changes  int                `json:"changes"`
	Added    int                `json:"added"`
	Removed  int                `json:"removed"`
	Rest     int                `json:"rest"`
	Blocking []changeset.Change `json:"blocking"`
	Sets     []reviewedSet      `json:"sets"`
}

func reviewed(r *engine.Review) []reviewedSet {
	out := []reviewedSet{}
	for _, s := range r.Sets {
		out = append(out, reviewedSet{s.Sandbox, s.Set})
	}
	return out
}

func runDiff(ctx context.Context, d *deps, o *diffOptions) error {
	t, err := d.find(ctx, o.ref)
	if err != nil {
		return err
	}
	if o.step = stepID(t.plan, o.step); o.step == "" {
		o.step = t.step
	}
	r, err := t.svc.Review(ctx, engine.ReviewRequest{
		Plan: t.plan.ID, Step: o.step, Only: o.only, Paths: o.files, Dir: t.dir, Ignored: o.ignored,
	})
	if err != nil {
		return err
	}
	n, exit := changed(r), exitDone
	if o.exitCode && n > 0 {
		exit = exitPending
	}
	switch {
	case d.json:
		v := diffObject{
			Plan: t.plan.ID, Status: r.Plan.Status, Step: o.step, Changes: n, Rest: r.Rest,
			Blocking: r.Blocking, Sets: reviewed(r),
		}
		if v.Blocking == nil {
			v.Blocking = []changeset.Change{}
		}
		for _, s := range r.Sets {
			for _, c := range s.Set.Changes {
				v.Added, v.Removed = v.Added+c.Added, v.Removed+c.Removed
			}
		}
		err = d.emit(v, exit)
	case o.nameOnly:
		err = d.names(r)
	case o.summary:
		err = d.page(func(w io.Writer) error { return d.summaryOf(w, r, -1) })
	case o.stat:
		err = d.page(func(w io.Writer) error { return d.stat(w, r) })
	default:
		err = d.page(func(w io.Writer) error { return d.diff(ctx, w, r) })
	}
	if err == nil && exit != exitDone {
		return &exitStatus{exit}
	}
	return err
}

// diff is the default rendering: for eyes on a terminal, else a patch.
func (d *deps) diff(ctx context.Context, w io.Writer, r *engine.Review) error {
	eyes := terminalOf(d.stdout) != nil
	if eyes {
		if err := d.summaryOf(w, r, 0); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return d.unified(ctx, w, r, eyes)
}

// summaryOf is the summary in the colours of stdout, whatever pager is between.
func (d *deps) summaryOf(w io.Writer, r *engine.Review, paths int) error {
	if err := changeset.Summary(w, sets(r), changeset.SummaryOptions{Color: d.styleFor(d.stdout).on, Paths: paths}); err != nil {
		return err
	}
	if r.Rest > 0 {
		fmt.Fprintf(w, "  not selected: %d more changes of the plan\n", r.Rest)
	}
	return nil
}

func (d *deps) stat(w io.Writer, r *engine.Review) error {
	for _, s := range r.Sets {
		if len(r.Sets) > 1 {
			fmt.Fprintf(w, "%s  %s\n", visible(s.Set.Resource), visible(s.Set.Root))
		}
		if err := changeset.Stat(w, s.Set, changeset.StatOptions{Width: columns(d.stdout), Color: d.styleFor(d.stdout).on}); err != nil {
			return err
		}
	}
	return nil
}

// names prints one path per line: relative to the resource, or absolute where
// the plan has several. On a terminal, or with a newline inside, it is quoted.
func (d *deps) names(r *engine.Review) error {
	for _, s := range r.Sets {
		for _, c := range s.Set.Changes {
			name := c.Path
			if len(r.Sets) > 1 {
				name = filepath.Join(s.Set.Root, c.Path)
			}
			if _, err := fmt.Fprintln(d.stdout, changeset.Quote(name)); err != nil {
				return err
			}
		}
	}
	return nil
}
