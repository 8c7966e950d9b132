package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

type applyOptions struct {
	ref     string
	files   []string
	to      engine.ApplyTo
	branch  string
	message string
	squash  bool
	only    []string
	ignored bool
	allow   []string
	yes     bool
}

// toFlag adds --to.
func toFlag(cmd *cobra.Command, to *engine.ApplyTo) {
	choiceFlag(cmd, to, "to", []string{"worktree", "commit", "branch"}, []string{"pr"},
		"where an apply goes in git: working tree, commits on the checked-out branch, or a branch of its own (default: worktree for try, commit for run)")
}

func newApplyCmd(d *deps) *cobra.Command {
	o := &applyOptions{}
	cmd := &cobra.Command{
		Use:   "apply [PLAN] [flags] [-- FILE…]",
		Short: "Carry a plan's changes into the real resources, all of them or nothing",
		Long: `Carry a plan's changes into the real resources: all of them, or, after a conflict or
a crash, none. What you select with --only or FILE… is applied; the rest stays in
the plan. You see what will happen and are asked; without a terminal --yes is needed.

Changes that would gain power outside the sandbox just by being there (git hooks,
setuid files, files that editors run) need a decision of their own: --allow FLAG.`,
		Example: `  ambit apply
  ambit apply --to branch --branch fix/login
  ambit apply --only 'docs/**' --yes`,
		Args:              planAndFiles,
		ValidArgsFunction: d.completePlans,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, files := split(cmd, args)
			o.ref, o.files = first(before), files
			return runApply(cmd.Context(), d, cmd, o)
		},
	}
	fl := cmd.Flags()
	toFlag(cmd, &o.to)
	fl.StringVar(&o.branch, "branch", "", "with --to branch: its `NAME` (default ambit/PLAN)")
	fl.StringVarP(&o.message, "message", "m", "", "subject of the commit, a `TEXT`")
	fl.BoolVar(&o.squash, "squash", false, "one commit instead of one per step")
	fl.StringArrayVar(&o.only, "only", nil, "only paths that match this `GLOB`; repeatable")
	fl.BoolVar(&o.ignored, "ignored", false, "with the paths that the resource ignores")
	fl.StringArrayVar(&o.allow, "allow", nil, "let changes with this blocking `FLAG` through; repeatable")
	fl.BoolVarP(&o.yes, "yes", "y", false, "go ahead without a question")
	_ = cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(blockingFlags(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func blockingFlags() []string {
	var out []string
	for _, f := range changeset.Flags() {
		if f.Blocking() {
			out = append(out, string(f))
		}
	}
	return out
}

// applyObject is the JSON of apply.
type applyObject struct {
	Plan    *engine.Plan       `json:"plan"`
	Apply   engine.ApplyRecord `json:"apply"`
	Applied int                `json:"applied"`
	Rest    int                `json:"rest"`
	Notices []string           `json:"notices"`
}

func runApply(ctx context.Context, d *deps, cmd *cobra.Command, o *applyOptions) error {
	var allow []changeset.Flag
	for _, f := range o.allow {
		if !slices.Contains(blockingFlags(), f) {
			return usagef(cmd, "--allow %s: no such blocking flag", visible(f)).withHint("the blocking flags are: %s", strings.Join(blockingFlags(), ", "))
		}
		allow = append(allow, changeset.Flag(f))
	}
	if cmd.Flags().Changed("branch") {
		if o.branch == "" {
			return usagef(cmd, "--branch needs a name").withHint("write --branch NAME, or only --to branch for ambit/PLAN")
		}
		if o.to != "" && o.to != engine.ToBranch {
			return usagef(cmd, "--branch goes with --to branch, not with --to %s", o.to)
		}
		o.to = engine.ToBranch
	}
	t, err := d.find(ctx, o.ref)
	if err != nil {
		return err
	}
	if t.step != "" {
		return usagef(cmd, "a plan is applied, not one of its steps").withHint("select paths with --only GLOB or -- FILE…; ambit diff %s/%s shows the step", t.plan.ID, t.step)
	}
	req := engine.ApplyRequest{
		Plan: t.plan.ID, To: o.to, Branch: o.branch, Message: o.message, Squash: o.squash,
		Only: o.only, Paths: o.files, Dir: t.dir, Ignored: o.ignored, Allow: allow, Observe: d.observer(),
	}
	if !o.yes {
		// What will happen is shown before it is asked for. With --yes the engine
		// looks at the changes itself, once.
		r, err := t.svc.Review(ctx, engine.ReviewRequest{Plan: t.plan.ID, Only: o.only, Paths: o.files, Dir: t.dir, Ignored: o.ignored})
		if err != nil {
			return err
		}
		if n := changed(r); n > 0 {
			if !d.json {
				if err := d.summary(d.stderr, r, 0); err != nil {
					return err
				}
				if n := t.plan.NotRunNotice(); n != "" {
					fmt.Fprintf(d.stderr, "%s %s\n", d.styleFor(d.stderr).yellow("note:"), visible(n))
				}
			}
			yes, err := d.confirm(ctx, "apply", fmt.Sprintf("apply %s to %s?", plural(n, "change"), destination(t.plan, o.to, o.branch)))
			if err != nil {
				return err
			}
			if !yes {
				return declined("apply " + t.plan.ID)
			}
			ok := false
			if req.Allow, ok, err = d.decideFlags(ctx, r, allow); err != nil {
				return err
			}
			if !ok {
				return declined("apply " + t.plan.ID)
			}
		}
	}
	res, err := t.svc.Apply(ctx, req)
	if err != nil {
		return err
	}
	if d.json {
		v := applyObject{res.Plan, res.Record, res.Applied, res.Rest, res.Notices}
		if v.Notices == nil {
			v.Notices = []string{}
		}
		return d.emit(v, exitDone)
	}
	d.applied(res)
	return nil
}

// destination says in words where an apply goes.
func destination(p *engine.Plan, to engine.ApplyTo, branch string) string {
	var out []string
	for _, s := range p.Sandboxes {
		where := visible(s.Resource.Path)
		switch p.Destination(s.Resource, to) {
		case engine.ToCommit:
			where = "the checked-out branch of " + where
		case engine.ToBranch:
			if branch == "" {
				branch = "ambit/" + p.ID
			}
			where = "branch " + visible(branch) + " of " + where
		case engine.ToWorktree:
			if s.Resource.Git != nil {
				where = "the working tree of " + where
			}
		}
		out = append(out, where)
	}
	return strings.Join(out, " and ")
}

// applied says what an apply did, on stderr.
func (d *deps) applied(res *engine.ApplyResult) {
	for _, n := range res.Notices {
		fmt.Fprintf(d.stderr, "ambit: %s\n", visible(n))
	}
	where := ""
	switch res.Record.To {
	case engine.ToCommit:
		where = ", committed"
	case engine.ToBranch:
		where = ", on a branch of its own"
	case engine.ToWorktree:
	}
	fmt.Fprintf(d.stderr, "applied %s to %s%s\n", plural(res.Applied, "change"), resourcePaths(res.Plan), where)
	list := [][2]string{{"ambit undo " + res.Plan.ID, "reverse it"}}
	if res.Rest > 0 {
		fmt.Fprintf(d.stderr, "%s in the plan\n", stays(res.Rest))
		list = append([][2]string{{"ambit diff " + res.Plan.ID, "see the rest"}}, list...)
	}
	d.commands(list)
}

// applyAfter applies at the end of try and run, where the summary was shown
// already. A nil result without an error means that the person said no.
func (d *deps) applyAfter(ctx context.Context, svc engine.Service, p *engine.Plan, r *engine.Review, to engine.ApplyTo, allow []changeset.Flag, dir string) (*engine.ApplyResult, error) {
	allow, ok, err := d.decideFlags(ctx, r, allow)
	if err != nil || !ok {
		return nil, err
	}
	res, err := svc.Apply(ctx, engine.ApplyRequest{Plan: p.ID, To: to, Dir: dir, Allow: allow, Observe: d.observer()})
	if err != nil {
		if f := fault.As(err); f.Hint == "" {
			err = f.WithHint("nothing of yours has changed; the work is kept: ambit diff %s", p.ID)
		}
		return nil, err
	}
	if !d.json {
		d.applied(res)
	}
	return res, nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func stays(n int) string {
	if n == 1 {
		return "1 change stays"
	}
	return fmt.Sprintf("%d changes stay", n)
}
