// Command comparison measures ambit beside what a user would use instead, on the
// same trees in one run, and prints a Markdown table of medians and ratios.
//
// It measures processes from start to end, as a person waits for them. Caches are
// warm: each measurement is preceded by one that does not count, and contenders
// take turns, so that a machine that slows down slows all of them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "comparison:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("comparison", flag.ContinueOnError)
	ambit := flags.String("ambit", "ambit", "the binary to measure")
	rounds := flags.Int("rounds", 7, "measurements of each contender, at least 7")
	keep := flags.String("dir", "", "folder for the trees; default: a temporary one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 7 {
		return errors.New("a median of fewer than 7 says nothing")
	}
	sizes := []int{1_000, 10_000, 100_000}
	if flags.NArg() > 0 {
		sizes = nil
		for _, a := range flags.Args() {
			n, err := strconv.Atoi(a)
			if err != nil || n < 100 {
				return fmt.Errorf("%q is no number of files of 100 or more", a)
			}
			sizes = append(sizes, n)
		}
	}
	dir := *keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "ambit-compare."); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, removeAll(dir)) }()
	}
	b := &bench{ambit: *ambit, dir: dir, rounds: *rounds, out: out}
	b.machine()
	for _, n := range sizes {
		if err := b.size(n); err != nil {
			return err
		}
	}
	return nil
}

// removeAll also removes folders without write permission, as module caches have.
func removeAll(dir string) error {
	_ = exec.Command("chmod", "-R", "u+rwX", dir).Run()
	return os.RemoveAll(dir)
}

type bench struct {
	ambit  string
	dir    string
	rounds int
	out    io.Writer
}

// machine states what the figures were taken on.
func (b *bench) machine() {
	line := func(name string, args ...string) string {
		text, err := exec.Command(name, args...).Output()
		if err != nil {
			return "not here"
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		return first
	}
	fmt.Fprintf(b.out, "%d cores, %s, kernel %s, file system %s, %s, %s, bubblewrap %s, uid %d, %s\n\n",
		runtime.NumCPU(), runtime.GOARCH, line("uname", "-r"), line("stat", "-f", "-c", "%T", b.dir),
		line("git", "--version"), line(b.ambit, "version"), strings.TrimPrefix(line("bwrap", "--version"), "bubblewrap "), os.Getuid(), time.Now().Format("2006-01-02"))
}

// contender is one way to do a job. before and after are not measured.
type contender struct {
	name          string
	before, after func() error
	do            func() error
	missing       string // why it cannot be measured here
}

// job compares contenders; the first is ambit.
func (b *bench) job(title string, cs []contender) error {
	times := make([][]time.Duration, len(cs))
	for round := -1; round < b.rounds; round++ {
		for i, c := range cs {
			if c.missing != "" {
				continue
			}
			if err := call(c.before); err != nil {
				return fmt.Errorf("%s, %s: before: %w", title, c.name, err)
			}
			start := time.Now()
			err := c.do()
			took := time.Since(start)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", title, c.name, err)
			}
			if err := call(c.after); err != nil {
				return fmt.Errorf("%s, %s: after: %w", title, c.name, err)
			}
			if round >= 0 {
				times[i] = append(times[i], took)
			}
		}
	}
	fmt.Fprintf(b.out, "**%s**\n\n| | median | least – most | ambit takes |\n| --- | --- | --- | --- |\n", title)
	var ours time.Duration
	for i, c := range cs {
		if c.missing != "" {
			fmt.Fprintf(b.out, "| %s | not measured: %s | | |\n", c.name, c.missing)
			continue
		}
		slices.Sort(times[i])
		median := times[i][len(times[i])/2]
		ratio := ""
		if i == 0 {
			ours = median
		} else if median > 0 {
			ratio = fmt.Sprintf("%.2f ×", float64(ours)/float64(median))
		}
		fmt.Fprintf(b.out, "| %s | %s | %s – %s | %s |\n", c.name, ms(median), ms(times[i][0]), ms(times[i][len(times[i])-1]), ratio)
	}
	fmt.Fprintln(b.out)
	return nil
}

func call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func ms(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

// command runs a program to its end; its output is the error's text if it fails.
func command(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, text)
	}
	return nil
}

// output is like command and returns what the program prints on stdout.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, exit.Stderr)
	}
	return string(text), err
}
