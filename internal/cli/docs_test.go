package cli

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ambit-run/ambit/boundary"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

var update = flag.Bool("update", false, "write docs/commands.md from the command tree")

// TestCommandsDocument keeps docs/commands.md equal to what the commands say of
// themselves: go test ./internal/cli -run TestCommandsDocument -update
func TestCommandsDocument(t *testing.T) {
	t.Parallel()
	const path = "../../docs/commands.md"
	want := commandsDocument()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the commands say; write it with: go test ./internal/cli -run TestCommandsDocument -update", path)
	}
}

func commandsDocument() string {
	var b strings.Builder
	b.WriteString(`# Commands

What each command says with --help, in one place. This page is written by a test from the commands themselves; what they print
with ` + "`--json`" + ` is in [json.md](json.md), what can be set beforehand in [configuration.md](configuration.md).

A PLAN is an id as ` + "`ambit ps`" + ` shows it, or the start of one that fits only that plan; without it a command takes the newest plan that
covers the current directory. PLAN/STEP, or only STEP for that newest plan, names a step. Flags after ` + "`--`" + ` belong to the command that
is run. Nothing is asked where stdin or stderr is no terminal; ` + "`apply`, `discard` and `undo`" + ` then need ` + "`--yes`" + `.

## Exit codes

| code | meaning |
| --- | --- |
`)
	meanings := map[int]string{
		exitDone: "done", exitFailed: "your command, or a step, ran and failed; its own code is printed and in the JSON",
		exitUsage: "the command line cannot be understood", exitPending: "`diff --exit-code`: there is something to review",
		exitReaderLeft: "whoever read the output through a pipe left early",
	}
	words := map[fault.Code]string{
		fault.Invalid: "what you gave is wrong: a ticket, a configuration, a name", fault.Denied: "forbidden: permissions, a policy, a decision that is missing",
		fault.Conflict: "the world moved, or two intents collide; the paths are named", fault.NotFound: "nothing has that name",
		fault.Unsupported: "this machine or this version cannot do it", fault.Unavailable: "a program or service does not answer, or a limit of time ran out; the same command may work later",
		fault.Internal: "a defect in ambit", fault.Canceled: "interrupted, or answered with no",
	}
	codes := map[int][]string{}
	for _, c := range fault.Codes() {
		n := exitCodes[c]
		codes[n] = append(codes[n], "`"+string(c)+"`")
		if meanings[n] == "" {
			meanings[n] = words[c]
		}
	}
	var numbers []int
	for n := range meanings {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		text := meanings[n]
		if len(codes[n]) > 0 {
			text += " (" + strings.Join(codes[n], ", ") + ")"
		}
		fmt.Fprintf(&b, "| %d | %s |\n", n, text)
	}
	root := newRootCmd(&deps{})
	b.WriteString("\n## Flags of every command\n\n```\n" + root.PersistentFlags().FlagUsages() + "```\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			section(&b, c)
		}
	}
	return b.String()
}

func section(b *strings.Builder, c *cobra.Command) {
	head := "## " + c.CommandPath()
	if c.Parent().HasParent() {
		head = "#" + head // below the command it belongs to
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(b, "\n%s\n\n    %s\n\n%s\n", head, c.UseLine(), text)
	if c.Example != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", c.Example)
	}
	local := pflag.NewFlagSet("", pflag.ContinueOnError)
	local.SortFlags = false
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			local.AddFlag(f)
		}
	})
	if usage := local.FlagUsages(); usage != "" {
		fmt.Fprintf(b, "\n```\n%s```\n", usage)
	}
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() {
			section(b, s)
		}
	}
}

// TestJSONDocument finds every field of every object in docs/json.md, in the
// section of its command.
func TestJSONDocument(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(raw), "\n## ")[1:] {
		head, body, _ := strings.Cut(s, "\n")
		sections[head] = body
	}
	objects := map[string]any{
		"Errors": errorObject{}, "Diagnostics": fault.Diagnostic{},
		"try": tryObject{}, "run": runObject{}, "diff": diffObject{}, "apply": applyObject{}, "discard, restore, undo": planObject{},
		"ps": plansObject{}, "status": statusObject{}, "logs": logObject{}, "exec, shell": execObject{},
		"checkpoint, restore-checkpoint": checkpointObject{}, "recover": engine.RecoverReport{}, "doctor": engine.DoctorReport{},
		"lint": lintObject{}, "dag": ticket.View{}, "plan": previewObject{}, "handoff": ticket.Payload{},
		"boundary spec": boundary.Spec{}, "boundary argv": boundaryArgvObject{}, "boundary report": boundaryReportObject{},
		"version": versionObject{}, "completion": completionObject{}, "Plans": engine.Plan{}, "Steps": engine.Step{}, "Exits": engine.Exit{},
	}
	for name, o := range objects {
		body, ok := sections[name]
		if !ok {
			t.Errorf("docs/json.md has no section %q", name)
			continue
		}
		for f := range reflect.TypeOf(o).Fields() {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "" || tag == "-" {
				t.Errorf("%s: field %s has no JSON name", name, f.Name)
			} else if !strings.Contains(body, "`"+tag+"`") {
				t.Errorf("docs/json.md, section %q, does not name %q", name, tag)
			}
		}
	}
	// Every command has its place there.
	for _, c := range leaves(newRootCmd(&deps{})) {
		name := strings.TrimPrefix(c.CommandPath(), "ambit ")
		found := false
		for head := range sections {
			found = found || slices.Contains(strings.Split(head, ", "), name)
		}
		if c.IsAvailableCommand() && !c.HasAvailableSubCommands() && !found {
			t.Errorf("docs/json.md has no section for ambit %s", name)
		}
	}
}
