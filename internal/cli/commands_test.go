package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// TestEmptyArguments: what a variable that is not set leaves behind names nothing.
func TestEmptyArguments(t *testing.T) {
	t.Parallel()
	for _, line := range [][]string{
		{"apply", "", "--yes"},
		{"discard", "", "--yes"},
		{"undo", ""},
		{"diff", ""},
		{"status", ""},
		{"lint", ""},
		{"dag", ""},
		{"run", ""},
		{"run", "--resume", ""},
		{"exec", "", "--", "true"},
		{"logs", ""},
		{"apply", "--yes", "--", ""},
		{"try", "--env", "A B=c", "--", "x"},
	} {
		f := somePlan()
		got := typeLine(t, f, line...)
		if got.code != 2 || !strings.Contains(got.stderr, "empty") && line[0] != "try" {
			t.Errorf("%q: code %d, %s", line, got.code, got.stderr)
		}
		if len(f.calls) > 0 {
			t.Errorf("%q: the engine was asked to %v", line, f.calls)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line string
		code int
		want []string // parts of stderr
	}{
		{"aply", 2, []string{`unknown command "aply"`, "did you mean ambit apply?", "ambit --help"}},
		{"frobnicate", 2, []string{"the commands are: apply, boundary, checkpoint,"}},
		{"diff --exitcode", 2, []string{"unknown flag --exitcode", "did you mean --exit-code (exit with 8", "usage: ambit diff [PLAN]"}},
		{"diff -Z", 2, []string{"unknown flag -Z"}},
		{"diff --step", 2, []string{"--step needs a value", "--step STEP (only what this STEP changed)"}},
		{"diff --stat --summary", 2, []string{"--stat and --summary exclude each other"}},
		{"diff a b", 2, []string{"files come after --: ambit diff a -- b"}},
		{"try", 2, []string{"no command to try", "ambit try -- make test"}},
		{"try --", 2, []string{"no command to try"}},
		{"try --keep --apply -- x", 2, []string{"--keep and --apply exclude each other"}},
		{"try --confine iron -- x", 2, []string{`--confine: "iron" is not known; use one of: auto, native, landlock, none`}},
		{"try --confine docker -- x", 7, []string{"--confine docker is not supported by this version"}},
		{"try --network allow -- x", 7, []string{"--network allow is not supported by this version"}},
		{"try --timeout soon -- x", 2, []string{`"soon" is not a duration; write it like 90s`}},
		{"try --env =x -- x", 2, []string{"has no name before the ="}},
		{"try --env 1A=b -- x", 2, []string{`"1A" is no name of a variable`}},
		{"try --env A-B=c -- x", 2, []string{`"A-B" is no name of a variable`}},
		{"try --env NOT_SET -- x", 6, []string{"no such variable in your environment", "--env NOT_SET=VALUE"}},
		{"apply --to pr", 7, []string{"--to pr is not supported by this version"}},
		{"apply --allow everything --yes", 2, []string{"no such blocking flag", "git-control"}},
		{"apply --to commit --branch x --yes", 2, []string{"--branch goes with --to branch"}},
		{"apply", 2, []string{"apply asks before it changes anything, and stdin is no terminal", "add --yes"}},
		{"discard", 2, []string{"discard asks before it changes anything", "add --yes"}},
		{"undo try-k7m2q", 2, []string{"undo asks before it changes anything", "add --yes"}},
		{"exec", 2, []string{"no command to run", "ambit shell opens a shell"}},
		{"exec make", 2, []string{"write the command after --", "ambit exec -- make"}},
		{"exec a b -- make", 2, []string{"exec takes one plan, and got 2 arguments before --"}},
		{"status a b", 2, []string{"status takes one plan, and got 2 arguments"}},
		{"status -- a", 2, []string{"status takes nothing after --"}},
		{"ps x", 2, []string{`ps takes no arguments, and got "x"`}},
		{"restore-checkpoint", 2, []string{"no checkpoint was named"}},
		{"completion", 2, []string{"one of: bash, zsh, fish, powershell"}},
		{"completion tcsh", 2, []string{"no completion for tcsh"}},
		{"logs a b c", 2, []string{"logs takes a plan and a step"}},
		{"help aply", 2, []string{"did you mean ambit apply?"}},
		{"boundary nope", 2, []string{`unknown command "nope"`, "the commands are: argv, report, spec"}},
		{"boundary spce", 2, []string{"did you mean ambit boundary spec?"}},
		{"boundary spec", 2, []string{"no task was named", "ambit boundary spec M-1"}},
		{"boundary spec a", 2, []string{"no working tree was named"}},
		{"boundary spec a b --workdir /w", 2, []string{"spec takes one task, and got 2 arguments"}},
		{"boundary spec a --ticket b --workdir /w", 2, []string{"TASK and --ticket exclude each other"}},
		{"boundary spec a --spec b", 2, []string{"unknown flag --spec"}},
		{"boundary spec a --workdir /w --env A", 2, []string{"--env A has no value", "write --env A=VALUE"}},
		{"boundary spec a --workdir /w --env =x", 3, []string{"invalid environment variable name: "}},
		{"boundary spec a --workdir w", 3, []string{"sandbox path must be absolute: w"}},
		{"boundary spec a --workdir /w --pids 0", 3, []string{"pids is no number of processes"}},
		{"boundary spec a --workdir /w --network allow", 7, []string{"--network allow is not supported by this version"}},
		{"boundary argv --spec s.json --workdir /w", 2, []string{"--spec and --workdir exclude each other"}},
		{"boundary argv --spec s.json -- make", 2, []string{"--spec and a command exclude each other"}},
		{"boundary argv --spec s.json", 6, []string{"read spec: there is no file s.json"}},
		{"boundary argv a --workdir /w --user 1:1", 2, []string{"--user is no part of the declared form", "add --executed"}},
		{"boundary argv a --workdir /w --engine qemu", 2, []string{`"qemu" is not known; use one of: docker, podman, bwrap`}},
		{"boundary argv a --workdir /w --name -x", 3, []string{"not a container's name"}},
		{"boundary argv a --workdir /w --executed --memory 999t", 7, []string{"memory 999t exceeds this machine"}},
		{"handoff - --spec s.json", 6, []string{"there is no file s.json"}},
		{"status nope", 6, []string{`no plan is called "nope"`}},
	} {
		got := typeLine(t, somePlan(), strings.Fields(tt.line)...)
		if got.code != tt.code {
			t.Errorf("ambit %s: exit %d, want %d\n%s", tt.line, got.code, tt.code, got.stderr)
		}
		if got.stdout != "" {
			t.Errorf("ambit %s: stdout %q", tt.line, got.stdout)
		}
		for _, w := range tt.want {
			if !strings.Contains(got.stderr, w) {
				t.Errorf("ambit %s: stderr lacks %q:\n%s", tt.line, w, got.stderr)
			}
		}
	}
}

func TestFlagsAfterTheCommandAreItsOwn(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"try -- make --keep -j4 --json", "try make --keep -j4 --json"} {
		f := somePlan()
		if got := typeLine(t, f, strings.Fields(line)...); got.code != 0 {
			t.Fatalf("%s: %+v", line, got)
		}
		if want := []string{"make", "--keep", "-j4", "--json"}; !slices.Equal(f.try.Argv, want) {
			t.Errorf("%s: argv %q, want %q", line, f.try.Argv, want)
		}
	}
	f := somePlan()
	typeLine(t, f, "exec", "try", "--", "git", "log", "--stat")
	if !slices.Equal(f.exec.Argv, []string{"git", "log", "--stat"}) || f.exec.Plan != "try-k7m2q" {
		t.Errorf("exec: %+v", f.exec)
	}
}

func TestTryHandsOnItsFlags(t *testing.T) {
	t.Parallel()
	f := somePlan()
	got := typeLine(t, f, "try", "--confine", "landlock", "--network", "host", "--strategy", "overlay", "--lower", "frozen",
		"--dirty", "hide", "--home", "ro", "--include", "a", "--include", "b", "--resource", "x", "--resource", "/y/../z",
		"--env", "SET", "--env", "A=b", "--rw", "out", "--timeout", "90s", "--as-root", "--to", "commit", "--keep", "--", "true")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	o, dir := f.try.Options, f.try.Dir
	if o.Confine != "landlock" || o.Network != "host" || o.Strategy != "overlay" || o.Lower != "frozen" || o.Dirty != "hide" || o.Home != "ro" ||
		!slices.Equal(o.Include, []string{"a", "b"}) || !slices.Equal(o.Env, []string{"SET", "A=b"}) || !slices.Equal(o.ReadWrite, []string{dir + "/out"}) ||
		o.Timeout.Seconds() != 90 || !o.AsRoot || !slices.Equal(f.try.Resources, []string{dir + "/x", "/z"}) {
		t.Errorf("options %+v, resources %v", o, f.try.Resources)
	}
	f = somePlan()
	typeLine(t, f, "try", "--", "true")
	if o := f.try.Options; o.Confine != "auto" || o.Network != "none" || o.Home != "tools" || o.Strategy != "auto" || o.Dirty != "carry" || o.Timeout != 0 {
		t.Errorf("defaults %+v", o)
	}
}

func TestTryDecides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		flags string
		fail  bool
		empty bool
		code  int
		calls []string
		say   string
	}{
		{"kept without a terminal", "", false, false, 0, []string{"try", "review"}, "ambit apply try-k7m2q"},
		{"applied", "--apply", false, false, 0, []string{"try", "review", "apply"}, "applied 1 change to /home/u/api"},
		{"applied by yes", "--yes", false, false, 0, []string{"try", "review", "apply"}, "ambit undo try-k7m2q"},
		{"discarded", "--discard", false, false, 0, []string{"try", "review", "discard"}, "`ambit restore try-k7m2q` brings it back"},
		{"failed", "", true, false, 1, []string{"try", "review"}, "true ended with code 3"},
		{"failed is never applied", "--apply", true, false, 1, []string{"try", "review"}, "not applied, because the command failed"},
		{"nothing changed", "", false, true, 0, []string{"try", "review", "discard"}, "nothing changed"},
		{"nothing changed but kept", "--keep", false, true, 0, []string{"try", "review"}, "kept as try-k7m2q"},
	} {
		f := somePlan()
		if tt.fail {
			f.exit = engine.Exit{Code: 3}
		}
		if tt.empty {
			f.sets[0].Set.Changes = nil
		}
		args := append(append([]string{"try"}, strings.Fields(tt.flags)...), "--", "true")
		got := typeLine(t, f, args...)
		if got.code != tt.code || !slices.Equal(f.calls, tt.calls) || !strings.Contains(got.stderr, tt.say) {
			t.Errorf("%s: exit %d, calls %v, stderr:\n%s", tt.name, got.code, f.calls, got.stderr)
		}
	}
}

// leaves lists every command that can be typed.
func leaves(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() || s.Name() == "help" {
			out = append(out, leaves(s)...)
		}
	}
	return out
}

// oneObject decodes stdout and fails unless it is exactly one JSON object.
func oneObject(t *testing.T, line, stdout string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(stdout))
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: stdout is no JSON object: %v\n%q", line, err, stdout)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("%s: more than one object: %q", line, stdout)
	}
	return v
}

// arguments are what a command needs to do something.
var arguments = map[string][]string{
	"try": {"--", "true"}, "exec": {"--", "true"}, "apply": {"--yes"}, "discard": {"--yes"}, "undo": {"try-k7m2q", "--yes"},
	"restore-checkpoint": {"x"}, "completion": {"bash"}, "help": {"diff"},
	"run": {"--resume", "try-k7m2q"}, "lint": {"-"}, "dag": {"-"}, "plan": {"-"}, "handoff": {"-"},
	"spec": {"M-1", "--workdir", "/w"}, "argv": {"M-1", "--workdir", "/w"}, "report": {"M-1", "--workdir", "/w"},
}

func TestEveryCommandPrintsOneObject(t *testing.T) {
	t.Parallel()
	broken := fault.New(fault.Conflict, "do it", "the world moved").WithHint("look").WithPaths("a", "b")
	root := newRootCmd(&deps{})
	root.InitDefaultHelpCmd()
	all := leaves(root)
	if len(all) < 20 {
		t.Fatalf("only %d commands were found", len(all))
	}
	for _, c := range all {
		words := strings.Fields(c.CommandPath())[1:]
		for _, tt := range []struct {
			name string
			fake func() *fake
			args []string
			ok   bool
		}{
			{"success", somePlan, append(append(slices.Clone(words), "--json"), arguments[c.Name()]...), true},
			{"failure", func() *fake { f := somePlan(); f.err = broken; return f }, append(append(slices.Clone(words), "--json"), arguments[c.Name()]...), false},
			{"unknown flag", somePlan, append(slices.Clone(words), "--json", "--no-such-flag"), false},
			{"unknown flag first", somePlan, append(slices.Clone(words), "--no-such-flag", "--json"), false},
			{"help", somePlan, append(slices.Clone(words), "--json", "--help"), true},
		} {
			line := strings.Join(tt.args, " ")
			got := typeLine(t, tt.fake(), tt.args...)
			v := oneObject(t, line, got.stdout)
			if v["exit_code"] != float64(got.code) {
				t.Errorf("%s: exit_code %v, but it exited with %d", line, v["exit_code"], got.code)
			}
			failed := v["ok"] == false
			if !failed && got.code != 0 {
				t.Errorf("%s: ok with exit code %d", line, got.code)
			}
			if failed {
				e, _ := v["error"].(map[string]any)
				for _, k := range []string{"code", "op", "message", "hint", "paths", "diagnostics"} {
					if _, there := e[k]; !there {
						t.Errorf("%s: error lacks %q: %v", line, k, e)
					}
				}
				if e["message"] == "" {
					t.Errorf("%s: an error without a message", line)
				}
			}
			if tt.ok && failed {
				t.Errorf("%s: failed: %s", line, got.stdout)
			}
			if strings.HasPrefix(tt.name, "unknown flag") && got.code != 2 {
				t.Errorf("%s: exit %d, want 2: %s", line, got.code, got.stdout)
			}
			if got.stderr != "" && tt.name != "success" {
				t.Errorf("%s: stderr under --json: %q", line, got.stderr)
			}
		}
	}
}

func TestFailedCommandIsInTheJSON(t *testing.T) {
	t.Parallel()
	f := somePlan()
	f.exit = engine.Exit{Code: 42}
	got := typeLine(t, f, "try", "--json", "--", "false")
	v := oneObject(t, "try", got.stdout)
	e := v["error"].(map[string]any)
	if got.code != 1 || v["ok"] != false || e["code"] != "failed" || v["exit"].(map[string]any)["code"] != float64(42) || v["decision"] != "kept" {
		t.Errorf("exit %d: %s", got.code, got.stdout)
	}
	if f.try.Console.Stdout == nil || f.try.Console.Terminal != nil {
		t.Errorf("console %+v", f.try.Console)
	}
}

func TestDiffForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, want string }{
		{"diff", "--- a/main.go\n+++ b/main.go\n@@ -1 +1 @@\n-old\n+new\n"},
		{"diff --name-only", "main.go\n"},
		{"diff --stat", " main.go | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"},
		{"diff --summary", "api  /home/u/api\n  1 modified (+1 -1)\n  M  main.go  +1 -1\n"},
	} {
		got := typeLine(t, somePlan(), strings.Fields(tt.line)...)
		if got.code != 0 || !strings.HasSuffix(got.stdout, tt.want) {
			t.Errorf("%s: exit %d\n%s\nwant the end\n%s", tt.line, got.code, got.stdout, tt.want)
		}
	}
	if got := typeLine(t, somePlan(), "diff", "--exit-code", "--name-only"); got.code != 8 {
		t.Errorf("diff --exit-code: %d, want 8", got.code)
	}
	f := somePlan()
	f.sets[0].Set.Changes = nil
	if got := typeLine(t, f, "diff", "--exit-code"); got.code != 0 || got.stdout != "" {
		t.Errorf("diff of nothing: %+v", got)
	}
}

func TestErrorsSayWhereAndWhatNext(t *testing.T) {
	t.Parallel()
	f := somePlan()
	f.err = &fault.Error{
		Code: fault.Conflict, Op: "apply", Message: "2 paths changed meanwhile", Hint: "ambit diff shows them",
		Paths: []string{"a\x1b[31m.go", "b.go"},
	}
	got := typeLine(t, f, "apply", "--yes")
	want := "ambit: apply: 2 paths changed meanwhile\n    a\\x1b[31m.go\n    b.go\n  next: ambit diff shows them\n"
	if got.code != 5 || got.stderr != want {
		t.Errorf("exit %d\n%q\nwant\n%q", got.code, got.stderr, want)
	}
	f.err = fault.New(fault.Internal, "x", "boom")
	if got := typeLine(t, f, "apply", "--yes"); got.code != 70 || !strings.Contains(got.stderr, "defect in ambit") {
		t.Errorf("%+v", got)
	}
}

func TestHostileNamesAreShownHarmless(t *testing.T) {
	t.Parallel()
	f := somePlan()
	evil := "x\x1b]0;pwned\x07\u202ey"
	f.plan.Title, f.plan.Notices = evil, []string{evil}
	f.plan.Steps[0].Title = evil
	f.plan.Sandboxes[0].Resource.Path = "/home/u/" + evil
	f.sets[0].Set.Changes[0].Path = evil
	f.sets[0].Set.Resource = evil
	f.log = evil
	f.err = nil
	for _, line := range []string{"status", "ps", "diff --summary", "diff --stat", "diff --name-only", "try --keep -- true", "apply --yes"} {
		got := typeLine(t, f, strings.Fields(line)...)
		if all := got.stdout + got.stderr; strings.ContainsAny(all, "\x1b\x07") || strings.Contains(all, "\u202e") {
			t.Errorf("ambit %s lets controls through: %q", line, all)
		}
	}
	f.err = fault.New(fault.Invalid, evil, "%s", evil).WithHint("%s", evil).WithPaths(evil)
	if got := typeLine(t, f, "status"); strings.ContainsAny(got.stderr, "\x1b\x07") {
		t.Errorf("an error lets controls through: %q", got.stderr)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	f := somePlan()
	f.plan.Options.Confine = engine.RungNone
	f.plan.Checkpoints = []engine.Checkpoint{{Name: "before:n01-a", At: noon, Auto: true}, {Name: "after:n01-a", At: noon, Auto: true}, {Name: "hand:good", At: noon}}
	got := typeLine(t, f, "status")
	want := `plan        try-k7m2q  review
what        try make fmt
made        1m ago in /home/u/api
sandbox     overlay  /home/u/api
boundary    none — commands run NOT CONFINED, as you asked
steps       ✓ n01  first
checkpoints good  0s ago
            before:n01 after:n01
next        ambit diff try-k7m2q     see the change
            ambit apply try-k7m2q    carry it into /home/u/api
            ambit discard try-k7m2q  throw it away
`
	if got.stdout != want {
		t.Errorf("got\n%s\nwant\n%s", got.stdout, want)
	}
}

func TestApplyNamesBlockingFlags(t *testing.T) {
	t.Parallel()
	f := somePlan()
	got := typeLine(t, f, "apply", "--yes", "--allow", "git-control", "--allow", "setuid", "--only", "*.go", "--", "main.go")
	if got.code != 0 || !slices.Equal(f.apply.Allow, []changeset.Flag{"git-control", "setuid"}) ||
		!slices.Equal(f.apply.Only, []string{"*.go"}) || !slices.Equal(f.apply.Paths, []string{"main.go"}) {
		t.Errorf("%+v %+v", got, f.apply)
	}
}

func TestAskedForSteps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ ref, plan, step string }{
		{"", "try-k7m2q", ""}, {"try", "try-k7m2q", ""}, {"try-k7m2q/n01", "try-k7m2q", "n01-a"}, {"n01", "try-k7m2q", "n01-a"}, {"n01-a", "try-k7m2q", "n01-a"},
	} {
		f := somePlan()
		d := &deps{
			getwd: func() (string, error) { return "/", nil }, roots: func(p []string) []string { return p }, svc: f,
		}
		got, err := d.find(t.Context(), tt.ref)
		if err != nil || got.plan.ID != tt.plan || got.step != tt.step {
			t.Errorf("find(%q) = %v, %q, %v", tt.ref, got.plan, got.step, err)
		}
	}
}
