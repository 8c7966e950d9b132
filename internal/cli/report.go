package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/fault"
)

// maxPaths bounds the list of paths below an error on a terminal; JSON has all.
const maxPaths = 20

// report renders what a command line came to and returns its exit code.
func (d *deps) report(ctx context.Context, cmd *cobra.Command, err error) int {
	code := exitCode(err)
	var status *exitStatus
	if err == nil || errors.As(err, &status) || errors.Is(err, errReaderLeft) {
		return code
	}
	o := describe(err)
	// A command that stopped because of a signal says which.
	if cause := context.Cause(ctx); cause != nil && o.Code == string(fault.Canceled) && !strings.Contains(o.Message, cause.Error()) {
		if o.Message == context.Canceled.Error() {
			o.Message = "" // the cause says it better
		}
		o.Message = joinText(cause.Error(), o.Message)
	}
	if d.json {
		var more *withFields
		var fields any
		if errors.As(err, &more) {
			fields = more.fields
		}
		if emitErr := d.emitError(o, code, fields); emitErr != nil {
			fmt.Fprintf(d.stderr, "ambit: write to stdout: %v\n", emitErr)
		}
		return code
	}
	d.reportText(cmd, err, o)
	return code
}

func (d *deps) reportText(cmd *cobra.Command, err error, o errorObject) {
	st := d.styleFor(d.stderr)
	d.diagnostics(o.Diagnostics)
	for _, x := range o.Diagnostics { // what stands above is not said again
		if x.Severity == fault.SeverityError && strings.Contains(o.Message, x.Summary) {
			o.Message = "nothing was done, because of " + plural(countErrors(o.Diagnostics), "error")
		}
		if x.Hint == o.Hint {
			o.Hint = ""
		}
	}
	message := visible(o.Message)
	if o.Op != "" && o.Code != "failed" {
		message = visible(o.Op) + ": " + message
	}
	fmt.Fprintf(d.stderr, "%s %s\n", st.red("ambit:"), message)
	for i, p := range o.Paths {
		if i == maxPaths {
			fmt.Fprintf(d.stderr, "    … and %d more (--json lists all)\n", len(o.Paths)-maxPaths)
			break
		}
		fmt.Fprintf(d.stderr, "    %s\n", visible(p))
	}
	if o.Hint != "" {
		fmt.Fprintf(d.stderr, "  %s %s\n", st.dim("next:"), visible(o.Hint))
	}
	var usage *usageError
	if errors.As(err, &usage) {
		at := usage.cmd
		if at == nil {
			at = cmd
		}
		fmt.Fprintf(d.stderr, "  %s %s\n  %s %s --help\n", st.dim("usage:"), at.UseLine(), st.dim("help: "), at.CommandPath())
	}
	if o.Code == string(fault.Internal) {
		fmt.Fprintf(d.stderr, "  %s\n", st.dim("this is a defect in ambit; nothing of your resources was meant to change"))
	}
}

func countErrors(list []fault.Diagnostic) int {
	n := 0
	for _, x := range list {
		if x.Severity == fault.SeverityError {
			n++
		}
	}
	return n
}

func joinText(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}
