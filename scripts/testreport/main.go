// Command testreport reads the event stream of go test -json (or of a test binary
// through go tool test2json) and says what a person wants to know: one line for
// each package, the whole output of what failed, and every skipped test with its
// reason. A skip is never silent, and a run that tested nothing is a failure.
//
//	go test -json ./... | testreport -label "as root" -skips FILE -min 1
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strings"
	"time"
)

// event is one line of the stream, as go doc test2json has it.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

func main() {
	err := run(os.Args[1:], os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

var errFailed = errors.New("tests failed")

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("testreport", flag.ContinueOnError)
	label := flags.String("label", "tests", "what this run is called")
	skips := flags.String("skips", "", "file to append skipped tests to")
	least := flags.Int("min", 1, "fewer tests than this that ran to their end are a failure")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &report{label: *label, out: out, tests: map[key]*strings.Builder{}, packages: map[string]*tally{}}
	if err := r.read(in); err != nil {
		return err
	}
	if err := r.keepSkips(*skips); err != nil {
		return err
	}
	return r.verdict(*least)
}

type key struct{ pkg, test string }

type skip struct{ pkg, test, reason string }

type tally struct{ ran, skipped, failed int }

type report struct {
	label    string
	out      io.Writer
	tests    map[key]*strings.Builder // output of what has not ended yet
	packages map[string]*tally
	skips    []skip
	ran      int
	failed   []string
	started  time.Time
}

func (r *report) read(in io.Reader) error {
	r.started = time.Now()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				r.event(e)
			} else {
				fmt.Fprint(r.out, line) // not of the stream: a compiler, a script
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
}

func (r *report) event(e event) {
	if e.Package == "" {
		e.Package = e.ImportPath
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		b := r.tests[k]
		if b == nil {
			b = &strings.Builder{}
			r.tests[k] = b
		}
		b.WriteString(e.Output)
	case "build-fail":
		fmt.Fprint(r.out, r.take(k))
		r.failed = append(r.failed, e.Package+" (build)")
	case "pass", "fail", "skip":
		r.end(e, k)
	}
}

// take returns what a test has printed and forgets it.
func (r *report) take(k key) string {
	b := r.tests[k]
	delete(r.tests, k)
	if b == nil {
		return ""
	}
	return b.String()
}

func (r *report) end(e event, k key) {
	text := r.take(k)
	t := r.packages[e.Package]
	if t == nil {
		t = &tally{}
		r.packages[e.Package] = t
	}
	if e.Test == "" {
		r.endPackage(e, t, text)
		return
	}
	switch e.Action {
	case "pass":
		t.ran++
		r.ran++
	case "skip":
		t.skipped++
		r.skips = append(r.skips, skip{e.Package, e.Test, reason(text)})
	case "fail":
		t.ran++
		t.failed++
		r.ran++
		r.failed = append(r.failed, e.Package+" "+e.Test)
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "=== ") { // RUN, PAUSE, CONT: of no use here
				fmt.Fprint(r.out, line)
			}
		}
	}
}

func (r *report) endPackage(e event, t *tally, text string) {
	if e.Action == "skip" || e.Action == "pass" && t.ran+t.skipped == 0 {
		return // no test files, or none that was asked for
	}
	if e.Action == "fail" {
		if t.failed == 0 { // a panic, a leak check, a data race outside of any test
			r.failed = append(r.failed, e.Package)
			for k, b := range r.tests {
				if k.pkg == e.Package {
					fmt.Fprint(r.out, b.String())
				}
			}
		}
		fmt.Fprint(r.out, text)
	}
	word := map[string]string{"pass": "ok  ", "fail": "FAIL"}[e.Action]
	line := fmt.Sprintf("%s %s  %d tests", word, e.Package, t.ran)
	if t.failed > 0 {
		line += fmt.Sprintf(", %d failed", t.failed)
	}
	if t.skipped > 0 {
		line += fmt.Sprintf(", %d skipped", t.skipped)
	}
	fmt.Fprintf(r.out, "%s  %.1fs\n", line, e.Elapsed)
}

// reason is the first line that a skipped test said, without the framework's own
// (testscript adds the whole script behind it).
func reason(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- SKIP") {
			return line
		}
	}
	return "NO REASON GIVEN"
}

func (r *report) keepSkips(path string) error {
	if path == "" || len(r.skips) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep skips: %w", err)
	}
	// One line for all tests of a package that say the same.
	type group struct{ pkg, reason string }
	var order []group
	names := map[group][]string{}
	for _, s := range r.skips {
		g := group{s.pkg, sourceLine.ReplaceAllString(s.reason, "")}
		if names[g] == nil {
			order = append(order, g)
		}
		names[g] = append(names[g], s.test)
	}
	for _, g := range order {
		if _, err = fmt.Fprintf(f, "%s: %s %s: %s\n", r.label, g.pkg, strings.Join(names[g], ", "), g.reason); err != nil {
			break
		}
	}
	return errors.Join(err, f.Close())
}

// sourceLine is what the testing package puts before a test's words.
var sourceLine = regexp.MustCompile(`^[A-Za-z0-9_]+\.go:[0-9]+: `)

// verdict prints the totals; tests that never ended count as failed.
func (r *report) verdict(least int) error {
	for k := range r.tests {
		if k.test != "" {
			r.failed = append(r.failed, k.pkg+" "+k.test+" (did not end)")
		}
	}
	sort.Strings(r.failed)
	fmt.Fprintf(r.out, "%s: %d tests ran, %d skipped, %d failed in %.0fs\n",
		r.label, r.ran, len(r.skips), len(r.failed), time.Since(r.started).Seconds())
	for _, f := range r.failed {
		fmt.Fprintln(r.out, "  failed:", f)
	}
	if len(r.failed) > 0 {
		return errFailed
	}
	if r.ran < least {
		return fmt.Errorf("%s: %d tests ran, at least %d must", r.label, r.ran, least)
	}
	return nil
}
