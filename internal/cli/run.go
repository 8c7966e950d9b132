package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/config"
)

type runOptions struct {
	planFlags
	ticketFlags
	jobs      int
	onFailure string
	resume    string
	tty       bool
	yes       bool
	to        engine.ApplyTo
	verbose   bool
	wait      bool
	share     bool
	tick      bool
	ticket    string
	agent     []string
}

// newRunOptions are what run and plan, which says what run would do, share.
func newRunOptions() *runOptions {
	return &runOptions{planFlags: planFlags{lowerUnasked: engine.LowerFrozen}}
}

// register adds the flags with which a ticket is run.
func (o *runOptions) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&o.jobs, "jobs", 1, "how many steps may run at the same time; this version runs `N`=1")
	choiceFlag(cmd, &o.onFailure, "on-failure", config.Failures, nil, "whether independent steps still run after one failed (default stop)")
	o.ticketFlags.register(cmd)
	fl.BoolVar(&o.tty, "tty", false, "give CMD a terminal of its own, joined to yours")
	fl.BoolVarP(&o.verbose, "verbose", "v", false, "show each line that steps print, instead of the tree")
	fl.BoolVarP(&o.yes, "yes", "y", false, "apply at the end if every step ended well")
	fl.BoolVar(&o.wait, "wait", false, "wait while another running plan holds a scope key of the ticket")
	fl.BoolVar(&o.share, "share", false, "go on although another running plan holds a scope key of the ticket")
	fl.BoolVar(&o.tick, "tick", false, "mark the box of each step that is done, in the ticket, as part of the change")
	toFlag(cmd, &o.to)
	o.planFlags.register(cmd)
}

// checkFlags refuses what contradicts itself, and what this version cannot do.
func (o *runOptions) checkFlags(cmd *cobra.Command) error {
	if err := exclusive(cmd, "wait", "share"); err != nil {
		return err
	}
	switch {
	case o.jobs < 1:
		return usagef(cmd, "--jobs %d: at least one step runs at a time", o.jobs)
	case o.jobs > 1:
		return fault.New(fault.Unsupported, "", "--jobs %d: this version runs steps one after another", o.jobs).WithHint("leave out --jobs")
	}
	return nil
}

func newRunCmd(d *deps) *cobra.Command {
	o := newRunOptions()
	cmd := &cobra.Command{
		Use:   "run TICKET [flags] [-- CMD…]",
		Short: "Run a ticket's steps in sandboxes, and stop for review",
		Long: `Run the steps of a ticket, a Markdown checklist, one after another in the order of
their dependencies, in a sandbox of the repository or directory around you. A step
runs the fenced sh block below its line, else CMD, which gets the step's prompt on
stdin and in $AMBIT_PROMPT_FILE, the handoff in $AMBIT_HANDOFF, and may hold {title},
{prompt} and {prompt_file}. TICKET may also be a folder of tickets, gh:OWNER/REPO#N
for an issue of GitHub, or - for stdin.

Nothing of yours changes: at the end you look at ambit diff and say ambit apply.
Ctrl-C ends the running step; --resume goes on from there.`,
		Example: `  ambit run ticket.md
  ambit run ticket.md -- my-agent --quiet
  ambit run backlog/tasks -- my-agent
  ambit run --resume fix-login-3fz9a`,
		Args: func(cmd *cobra.Command, args []string) error { return o.take(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), d, cmd, o) },
	}
	cmd.Flags().StringVar(&o.resume, "resume", "", "run the steps of this `PLAN` that are not done")
	o.register(cmd)
	return cmd
}

// take checks the arguments: a ticket, or --resume and nothing that a plan
// already has.
func (o *runOptions) take(cmd *cobra.Command, args []string) error {
	before, after := split(cmd, args)
	if len(before) > 1 {
		return usagef(cmd, "run takes one ticket, and got %d arguments before --", len(before)).
			withHint("an agent's command comes after --: ambit run %s -- %s", before[0], strings.Join(before[1:], " "))
	}
	o.ticket, o.agent = first(before), after
	if err := o.checkFlags(cmd); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("resume"):
		return o.takeResume(cmd)
	case o.ticket == "":
		return usagef(cmd, "no ticket to run").withHint("name a Markdown checklist, for example: ambit run ticket.md; ambit try -- CMD needs none")
	}
	return nil
}

// kept are the flags that make sense on a plan that exists already.
var kept = []string{"resume", "yes", "to", "verbose", "jobs", "wait", "share", "json", "no-pager", "help"}

func (o *runOptions) takeResume(cmd *cobra.Command) error {
	if o.resume == "" {
		return usagef(cmd, "--resume needs a plan, and got an empty name").withHint("`ambit ps` lists the plans")
	}
	if o.ticket != "" || len(o.agent) > 0 {
		return usagef(cmd, "--resume goes on with a plan's own ticket and command; leave out %q", strings.Join(append([]string{o.ticket}, o.agent...), " "))
	}
	var extra []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(kept, f.Name) {
			extra = append(extra, "--"+f.Name)
		}
	})
	if len(extra) > 0 {
		return usagef(cmd, "--resume keeps the options the plan was made with; leave out %s", strings.Join(extra, ", "))
	}
	return nil
}

// scope is what to do where another plan works on the same.
func (o *runOptions) scope() engine.ScopeMode {
	switch {
	case o.wait:
		return engine.ScopeWait
	case o.share:
		return engine.ScopeShare
	}
	return engine.ScopeConflict
}

// runObject is the JSON of run.
type runObject struct {
	Plan     *engine.Plan  `json:"plan"`
	Decision string        `json:"decision"` // kept or applied
	Changes  int           `json:"changes"`
	Applied  int           `json:"applied"`
	Review   []reviewedSet `json:"sets"`
}

func runRun(ctx context.Context, d *deps, cmd *cobra.Command, o *runOptions) error {
	if o.tty && (terminalOf(d.stdin) == nil || terminalOf(d.stdout) == nil || d.json) {
		return usagef(cmd, "--tty needs a terminal on stdin and stdout, and no --json")
	}
	dir, _, err := d.place()
	if err != nil {
		return err
	}
	req := engine.RunRequest{Environ: d.environ, Scope: o.scope(), Console: engine.Console{Stdout: raw(d.stderr), Stderr: raw(d.stderr)}}
	var svc engine.Service
	var stage *engine.StageRequest
	if o.resume != "" {
		t, err := d.find(ctx, o.resume)
		if err != nil {
			return err
		}
		svc, req.Plan = t.svc, t.plan.ID
		o.tty = t.plan.AgentTTY && terminalOf(d.stdin) != nil && terminalOf(d.stdout) != nil && !d.json
	} else {
		if stage, _, err = d.stageRequest(ctx, cmd, o); err != nil {
			return err
		}
		if svc, err = d.service(ctx); err != nil {
			return err
		}
	}
	if o.tty {
		req.Console = d.console()
	}
	show := d.newProgress(o.verbose, o.tty)
	plan, err := stageAndRun(ctx, svc, stage, req, show)
	show.stop()
	return d.afterRun(ctx, svc, plan, err, o, dir)
}

// stageAndRun stages a new plan, if there is one to stage, and runs its steps.
// The plan is nil only if staging failed.
func stageAndRun(ctx context.Context, svc engine.Service, stage *engine.StageRequest, req engine.RunRequest, show progress) (*engine.Plan, error) {
	var staged *engine.Plan
	if stage != nil {
		stage.Observe = show.observe
		p, err := svc.Stage(ctx, *stage)
		if err != nil {
			return nil, err
		}
		staged, req.Plan = p, p.ID
	}
	req.Observe = show.observe
	res, err := svc.Run(ctx, req)
	if res != nil && res.Plan != nil {
		return res.Plan, err
	}
	return staged, err
}
