package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/boundary"
)

func newBoundaryReportCmd(d *deps) *cobra.Command {
	f := &specFlags{}
	cmd := &cobra.Command{
		Use:   "report [TASK] [flags] [-- CMD…]",
		Short: "Explain a declared boundary in plain terms",
		Long: `Explain a declared boundary: what may be written and what only read, what can be
reached, which privileges are gone, and for each engine what it would do otherwise than
declared and what it cannot enforce. What is declared is not proved by it.`,
		Example: `  ambit boundary report M-1002 --workdir /srv/work/M-1002
  ambit boundary report --spec spec.json`,
		Args: f.args,
		RunE: func(cmd *cobra.Command, args []string) error { return runBoundaryReport(d, cmd, f, args) },
	}
	f.register(cmd, true)
	return cmd
}

// boundaryReportObject is the JSON of boundary report.
type boundaryReportObject struct {
	WritablePaths       []string         `json:"writable_paths"`
	ReadOnlyPaths       []string         `json:"read_only_paths"`
	Network             boundary.Network `json:"network"`
	RootFilesystem      string           `json:"root_filesystem"`
	CapabilitiesDropped []string         `json:"capabilities_dropped"`
	Note                string           `json:"note"`
	SpecHash            string           `json:"spec_hash"`
	Executed            []executedObject `json:"executed"`
}

// executedObject is what an engine makes of a spec.
type executedObject struct {
	Engine  string                `json:"engine"`
	Differs []boundary.Difference `json:"differs"`
	Missing []boundary.Difference `json:"not_enforced"`
}

func runBoundaryReport(d *deps, cmd *cobra.Command, f *specFlags, args []string) error {
	s, err := d.spec(cmd.Context(), cmd, f, args)
	if err != nil {
		return err
	}
	x := boundary.Report(s)
	v := boundaryReportObject{
		x.WritablePaths, x.ReadOnlyPaths, x.Network, x.RootFilesystem, x.CapabilitiesDropped, x.Note, s.SpecHash, nil,
	}
	for _, engine := range engines {
		// Of no machine in particular: whether limits fit is asked of the one that runs it.
		r, err := rendered(engine, s, boundary.Execution{})
		if err != nil {
			return err
		}
		v.Executed = append(v.Executed, executedObject{engine, r.Differs, r.Missing})
	}
	if d.json {
		return d.emit(v, exitDone)
	}
	return d.page(func(w io.Writer) error {
		_, err := io.WriteString(w, v.text(d.styleFor(w)))
		return err
	})
}

// text is the report for a person.
func (v *boundaryReportObject) text(st style) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%s%s\n", pad(name, 15), visible(fmt.Sprintf(format, args...)))
	}
	row("writable", "%s", listed(v.WritablePaths))
	row("read-only", "%s", listed(v.ReadOnlyPaths))
	row("network", "%s", v.Network)
	row("root", "%s", v.RootFilesystem)
	row("capabilities", "%s dropped", listed(v.CapabilitiesDropped))
	row("hash", "%s", v.SpecHash)
	row("", "%s", v.Note)
	var before []boundary.Difference
	for _, x := range v.Executed {
		list := func(head, mark string, of []boundary.Difference) {
			of = slices.DeleteFunc(slices.Clone(of), func(d boundary.Difference) bool { return slices.Contains(before, d) })
			if len(of) == 0 {
				return
			}
			b.WriteString("\n" + st.bold(head) + "\n")
			for _, d := range of {
				fmt.Fprintf(&b, "  %s %s\n      %s\n", mark, visible(d.What), st.dim(visible(d.Why)))
			}
		}
		also := ""
		if len(before) > 0 {
			also = ", besides what stands above"
		}
		list("otherwise when "+x.Engine+" runs it"+also, "~", x.Differs)
		list("not enforced when "+x.Engine+" runs it", "✗", x.Missing)
		if before == nil {
			before = x.Differs
		}
	}
	return b.String()
}

func listed(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
