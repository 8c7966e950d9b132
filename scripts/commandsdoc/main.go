// Command commandsdoc writes docs/commands.md from what ambit says of itself, so
// that the page cannot drift from the program.
//
//	commandsdoc AMBIT > docs/commands.md
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// help is the object that ambit help --json prints.
type help struct {
	Command  string
	Usage    string
	Short    string
	Long     string
	Example  string
	Flags    []flag
	Commands []struct{ Name, Short string }
}

type flag struct{ Name, Usage, Default string }

const intro = `# Commands

Written by ` + "`make docs`" + ` from the program itself; ` + "`ambit help COMMAND`" + ` prints the same.

PLAN is a plan's id or a unique beginning of it; without one the newest plan that covers the current directory is meant.
` + "`PLAN/STEP`" + ` names a step where that makes sense. Every command takes ` + "`--json`" + ` and then prints exactly one object on
standard output, errors included, and asks nothing. People's text goes to the terminal, progress to standard error.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | the command or step itself failed; its own code is printed and in the JSON |
| 2 | usage |
| 3 | invalid input |
| 4 | denied |
| 5 | conflict |
| 6 | not found |
| 7 | unsupported on this machine |
| 8 | changes wait for review (with ` + "`--exit-code`" + `) |
| 130 | interrupted |

`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: commandsdoc AMBIT")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "commandsdoc:", err)
		os.Exit(1)
	}
}

func write(w io.Writer, ambit string) error {
	top, err := ask(ambit)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(intro)
	for _, c := range top.Commands {
		h, err := ask(ambit, c.Name)
		if err != nil {
			return err
		}
		section(&b, h, top.Flags)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// ask runs ambit help for one command.
func ask(ambit string, words ...string) (help, error) {
	var h help
	cmd := exec.Command(ambit, append(append([]string{"help"}, words...), "--json")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return h, fmt.Errorf("ambit help %s: %w", strings.Join(words, " "), err)
	}
	if err := json.Unmarshal(out, &h); err != nil {
		return h, fmt.Errorf("ambit help %s: %w", strings.Join(words, " "), err)
	}
	return h, nil
}

func section(b *strings.Builder, h help, common []flag) {
	fmt.Fprintf(b, "## %s\n\n    %s\n\n", h.Command, h.Usage)
	text := h.Long
	if text == "" {
		text = h.Short + "."
	}
	fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(text))
	if h.Example != "" {
		fmt.Fprintf(b, "    %s\n\n", strings.ReplaceAll(strings.TrimSpace(h.Example), "\n", "\n  "))
	}
	var rows []flag
	for _, f := range h.Flags {
		known := f.Name == "help"
		for _, c := range common {
			known = known || c.Name == f.Name
		}
		if !known {
			rows = append(rows, f)
		}
	}
	if len(rows) == 0 {
		return
	}
	b.WriteString("| flag | |\n| --- | --- |\n")
	for _, f := range rows {
		usage := strings.ReplaceAll(f.Usage, "|", "\\|")
		if f.Default != "" && f.Default != "false" && f.Default != "[]" {
			usage += " (default " + f.Default + ")"
		}
		fmt.Fprintf(b, "| `--%s` | %s |\n", f.Name, usage)
	}
	b.WriteString("\n")
}
