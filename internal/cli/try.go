package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

type tryOptions struct {
	planFlags
	keep, apply, discard bool
	yes                  bool
	to                   engine.ApplyTo
	argv                 []string
}

func newTryCmd(d *deps) *cobra.Command {
	o := &tryOptions{planFlags: planFlags{lowerUnasked: engine.LowerLive}}
	cmd := &cobra.Command{
		Use:   "try [flags] -- CMD…",
		Short: "Run any command in a throw-away sandbox of this directory",
		Long: `Run any command in a throw-away sandbox of the repository or directory around you.
The command sees your tree at its own path, uncommitted work included, and changes
only the sandbox. Afterwards you see what it changed and say apply, keep or discard.

Without a terminal nothing is asked: the sandbox is kept, unless --apply or
--discard decided beforehand. A command that fails is never applied.`,
		Example: `  ambit try -- make fmt
  ambit try --discard -- npm test
  ambit try --network host -- npm install left-pad`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef(cmd, "no command to try").
					withHint("write the command after --, for example: ambit try -- make test")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclusive(cmd, "keep", "apply", "discard"); err != nil {
				return err
			}
			o.argv = args
			return runTry(cmd.Context(), d, cmd, o)
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false) // from the command's first word on, flags are the command's
	fl.BoolVar(&o.keep, "keep", false, "keep the sandbox for later, without a question")
	fl.BoolVar(&o.apply, "apply", false, "apply the changes if the command ends well, without a question")
	fl.BoolVar(&o.discard, "discard", false, "discard the sandbox, without a question")
	fl.BoolVarP(&o.yes, "yes", "y", false, "the same as --apply")
	toFlag(cmd, &o.to)
	o.register(cmd)
	return cmd
}

// tryObject is the JSON of try.
type tryObject struct {
	Plan     *engine.Plan  `json:"plan"`
	Exit     engine.Exit   `json:"exit"`
	Decision string        `json:"decision"` // kept, applied, discarded
	Changes  int           `json:"changes"`
	Applied  int           `json:"applied"`
	Review   []reviewedSet `json:"sets"`
}

func runTry(ctx context.Context, d *deps, cmd *cobra.Command, o *tryOptions) error {
	opts, err := o.options(d, cmd, 0)
	if err != nil {
		return err
	}
	dir, spelled, err := d.place()
	if err != nil {
		return err
	}
	svc, err := d.service(ctx)
	if err != nil {
		return err
	}
	res, err := svc.Try(ctx, engine.TryRequest{
		Dir: dir, Spelled: spelled, Resources: o.paths(dir), Argv: o.argv, Environ: d.environ,
		Options: opts, Console: d.console(), Observe: d.observer(),
	})
	if err != nil {
		if res != nil && res.Plan != nil {
			if !d.json {
				d.goOn(res.Plan)
			}
			return &withFields{err, tryObject{Plan: res.Plan, Exit: res.Exit, Decision: "kept", Review: []reviewedSet{}}}
		}
		return err
	}
	return d.afterTry(ctx, svc, res, o, dir)
}

// afterTry shows what the command changed and carries out the decision.
func (d *deps) afterTry(ctx context.Context, svc engine.Service, res *engine.TryResult, o *tryOptions, dir string) error {
	out := tryObject{Plan: res.Plan, Exit: res.Exit, Decision: "kept", Review: []reviewedSet{}}
	var failure error
	if res.Exit.Code != 0 {
		failure = &commandFailed{what: visible(strings.Join(o.argv, " ")), exit: res.Exit}
	}
	review, err := svc.Review(ctx, engine.ReviewRequest{Plan: res.Plan.ID, Dir: dir, SkipDrift: o.discard})
	if err != nil {
		return &withFields{err, out}
	}
	out.Changes, out.Review = changed(review), reviewed(review)
	if !d.json {
		if res.Exit.Killed > 0 {
			fmt.Fprintf(d.stderr, "ambit: ended %d processes that the command left behind\n", res.Exit.Killed)
		}
		if failure != nil {
			fmt.Fprintf(d.stderr, "ambit: %s\n", failure)
		}
		if err := d.summary(d.stderr, review, 0); err != nil {
			return err
		}
	}
	decision, err := d.decideTry(ctx, o, review, failure)
	if err != nil {
		if !d.json {
			d.goOn(res.Plan)
		}
		return &withFields{err, out}
	}
	switch decision {
	case "apply":
		applied, err := d.applyAfter(ctx, svc, res.Plan, review, o.to, nil, dir)
		if err != nil {
			return &withFields{err, out}
		}
		if applied != nil {
			out.Plan, out.Applied, out.Decision = applied.Plan, applied.Applied, "applied"
		}
	case "discard":
		p, err := svc.Discard(ctx, res.Plan.ID)
		if err != nil {
			return &withFields{err, out}
		}
		out.Plan, out.Decision = p, "discarded"
		if !d.json {
			d.discarded(res.Plan, p)
		}
	}
	if out.Decision == "kept" && !d.json {
		d.goOn(res.Plan)
	}
	if failure != nil {
		if d.json {
			return &withFields{failure, out}
		}
		return &exitStatus{exitFailed} // said above
	}
	if d.json {
		return d.emit(out, exitDone)
	}
	return nil
}

// decideTry is apply, keep or discard: as the flags say, as the person answers,
// or kept. What changed nothing is discarded unless --keep: there is nothing to
// decide, and restore brings its home and logs back.
func (d *deps) decideTry(ctx context.Context, o *tryOptions, review *engine.Review, failure error) (string, error) {
	switch {
	case o.keep:
		return "keep", nil
	case o.discard:
		return "discard", nil
	case (o.apply || o.yes) && failure != nil:
		if !d.json {
			fmt.Fprintln(d.stderr, "not applied, because the command failed")
		}
		return "keep", nil
	case changed(review) == 0 && untouched(review):
		return "discard", nil
	case o.apply || o.yes:
		return "apply", nil
	case !d.canAsk() || terminalOf(d.stdout) == nil: // a pager or filter behind a pipe may want the keys
		return "keep", nil
	}
	return d.question(ctx, review)
}

// untouched reports whether a review holds nothing at all, not even ignored or
// uncovered paths.
func untouched(r *engine.Review) bool {
	for _, s := range r.Sets {
		if s.Set.IgnoredPaths > 0 || len(s.Set.Skipped) > 0 || len(s.Set.Changes) > 0 {
			return false
		}
	}
	return true
}

// console is the person's terminal or pipes for a command inside. With --json
// stdout belongs to the object, so the command's output goes to stderr.
func (d *deps) console() engine.Console {
	c := engine.Console{Stdin: d.stdin, Stdout: raw(d.stdout), Stderr: raw(d.stderr)}
	if d.json {
		c.Stdout = raw(d.stderr)
		return c
	}
	if terminalOf(d.stdin) != nil && terminalOf(d.stdout) != nil {
		// The command's own terminal is relayed; a copy beside it would show everything twice.
		c.Terminal, c.Stdout, c.Stderr = bothWays(d.stdin), nil, nil
	}
	return c
}

// observer shows notices, or nothing under --json.
func (d *deps) observer() engine.Observer {
	if d.json {
		return nil
	}
	return d.newNotices().observe
}
