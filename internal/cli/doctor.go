package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
)

func newDoctorCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine can do, and what to mend",
		Long: `Show which confinement and which strategies this machine offers for the directory
around you, what is missing for the others, and what to do about it. Changes nothing.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), d) },
	}
}

// doctorOrder is the order in which rungs and strategies are preferred.
var (
	rungOrder     = []engine.Rung{engine.RungNative, engine.RungLandlock, engine.RungDocker, engine.RungNone}
	strategyOrder = []engine.StrategyName{
		engine.StrategyOverlay, engine.StrategyGitWorktree, engine.StrategyCopyOnWrite, engine.StrategyFilesystemCopy, engine.StrategyNone,
	}
)

func runDoctor(ctx context.Context, d *deps) error {
	dir, _, err := d.place()
	if err != nil {
		return err
	}
	svc, err := d.service(ctx)
	if err != nil {
		return err
	}
	rep, err := svc.Doctor(ctx, dir)
	if err != nil {
		return err
	}
	if d.json {
		return d.emit(rep, exitDone)
	}
	st := d.styleFor(d.stdout)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", pad("state", 16), visible(rep.StateDir))
	for _, k := range slices.Sorted(maps.Keys(rep.Facts)) {
		fmt.Fprintf(&b, "%s %s\n", pad(visible(k), 16), visible(rep.Facts[k]))
	}
	b.WriteString("\n" + st.bold("confinement") + "\n")
	probes(&b, st, rungOrder, rep.Rungs)
	b.WriteString("\n" + st.bold("strategies for "+visible(dir)) + "\n")
	probes(&b, st, strategyOrder, rep.Strategies)
	if len(rep.Programs) > 0 {
		b.WriteString("\n" + st.bold("programs") + "\n")
		for _, k := range slices.Sorted(maps.Keys(rep.Programs)) {
			fmt.Fprintf(&b, "  %s %s\n", pad(visible(k), 16), visible(rep.Programs[k]))
		}
	}
	if len(rep.Missing) > 0 {
		b.WriteString("\n" + st.bold("to mend") + "\n")
		for _, m := range rep.Missing {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(visible(m), `\n`, "\n  "))
		}
	} else {
		b.WriteString("\n" + st.green("nothing to mend") + "\n")
	}
	_, err = io.WriteString(d.stdout, b.String())
	return err
}

func probes[K ~string](b *strings.Builder, st style, order []K, found map[K]engine.Probe) {
	for _, k := range order {
		p, ok := found[k]
		if !ok {
			continue
		}
		sign := st.green("✓")
		if !p.OK {
			sign = st.red("✗")
		}
		fmt.Fprintf(b, "  %s %s %s\n", sign, pad(string(k), 16), visible(p.Reason))
		for _, m := range p.Missing {
			if m != p.Reason {
				fmt.Fprintf(b, "      %s\n", st.dim(strings.ReplaceAll(visible(m), `\n`, "\n      ")))
			}
		}
	}
}
