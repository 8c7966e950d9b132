package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// summary writes what a review holds, for a person.
func (d *deps) summary(w io.Writer, r *engine.Review, paths int) error {
	return changeset.Summary(w, sets(r), changeset.SummaryOptions{Color: d.styleFor(w).on, Paths: paths})
}

func sets(r *engine.Review) []*changeset.Set {
	var out []*changeset.Set
	for _, s := range r.Sets {
		out = append(out, s.Set)
	}
	return out
}

// changed counts the changes of a review.
func changed(r *engine.Review) int {
	n := 0
	for _, s := range r.Sets {
		n += len(s.Set.Changes)
	}
	return n
}

// unified writes the diffs of a review: as a patch, or for eyes on a terminal.
func (d *deps) unified(ctx context.Context, w io.Writer, r *engine.Review, eyes bool) error {
	for _, s := range r.Sets {
		o := changeset.DiffOptions{Heading: len(r.Sets) > 1}
		if eyes {
			o.Escape, o.Review, o.Heading = true, true, true
			o.Color = d.styleFor(d.stdout).on
		} else {
			o.BinaryPatch = true
		}
		// Contents that are gone are named in their place, and in the set's notices.
		if err := changeset.Unified(ctx, w, s.Set, s.Source, o); err != nil && !fault.Is(err, fault.Stale) {
			return err
		}
	}
	return nil
}

// undecided lists the blocking flags of a review that allow does not name, with
// the changes that carry them.
func undecided(r *engine.Review, allow []changeset.Flag) map[changeset.Flag][]changeset.Change {
	out := map[changeset.Flag][]changeset.Change{}
	for _, c := range r.Blocking {
		for _, f := range c.Flags {
			if f.Blocking() && !slices.Contains(allow, f) {
				out[f] = append(out[f], c)
			}
		}
	}
	return out
}

// decideFlags asks a person about each blocking flag and returns the ones that
// may pass. Where nobody can be asked it returns allow as it is: the engine then
// refuses and names the flags.
func (d *deps) decideFlags(ctx context.Context, r *engine.Review, allow []changeset.Flag) ([]changeset.Flag, bool, error) {
	open := undecided(r, allow)
	if len(open) == 0 || !d.canAsk() {
		return allow, true, nil
	}
	st := d.styleFor(d.stderr)
	for _, f := range changeset.Flags() {
		list := open[f]
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(d.stderr, "%s needs your decision:\n", st.yellow(string(f)))
		for i, c := range list {
			if i == maxPaths {
				fmt.Fprintf(d.stderr, "    … and %d more\n", len(list)-maxPaths)
				break
			}
			why := ""
			if c.Why[f] != "" {
				why = ": " + visible(c.Why[f])
			}
			fmt.Fprintf(d.stderr, "    %s%s\n", changeset.Quote(c.Path), why)
		}
		yes, err := d.confirm(ctx, "apply", "let "+string(f)+" through?")
		if err != nil {
			return nil, false, err
		}
		if !yes {
			return nil, false, nil
		}
		allow = append(allow, f)
	}
	return allow, true, nil
}

// goOn prints the commands that go on with a kept plan.
func (d *deps) goOn(p *engine.Plan) {
	st := d.styleFor(d.stderr)
	fmt.Fprintf(d.stderr, "kept as %s; nothing of yours has changed\n", st.bold(p.ID))
	d.commands([][2]string{
		{"ambit diff " + p.ID, "see the change"},
		{"ambit apply " + p.ID, "carry it into " + resourcePaths(p)},
		{"ambit discard " + p.ID, "throw it away"},
	})
}

func (d *deps) commands(list [][2]string) {
	width := 0
	for _, c := range list {
		width = max(width, textWidth(c[0]))
	}
	for _, c := range list {
		fmt.Fprintf(d.stderr, "  %s  %s\n", pad(c[0], width), c[1])
	}
}

// resourcePaths names the resources of a plan.
func resourcePaths(p *engine.Plan) string {
	var out []string
	for _, s := range p.Sandboxes {
		if !slices.Contains(out, s.Resource.Path) {
			out = append(out, s.Resource.Path)
		}
	}
	if len(out) == 0 {
		return "the real directory"
	}
	return visible(strings.Join(out, ", "))
}

// question asks what to do with a plan that waits for review until the answer is
// a decision: apply, keep or discard. No answer keeps.
func (d *deps) question(ctx context.Context, r *engine.Review) (string, error) {
	for {
		answer, err := d.ask(ctx, "apply, keep, discard, show diff? [a/k/d/s]")
		if errors.Is(err, errNoAnswer) {
			return "keep", nil
		}
		if err != nil {
			return "", err
		}
		switch answer {
		case "a", "apply":
			return "apply", nil
		case "k", "keep":
			return "keep", nil
		case "d", "discard":
			return "discard", nil
		case "s", "show", "show diff", "diff":
			if err := d.page(func(w io.Writer) error { return d.unified(ctx, w, r, true) }); err != nil {
				return "", err
			}
		default:
			fmt.Fprintln(d.stderr, "a = apply, k = keep for later, d = discard, s = show the diff")
		}
	}
}
