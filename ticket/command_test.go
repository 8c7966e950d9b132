package ticket

import (
	"strings"
	"testing"
)

func TestRule7_CommandsOfSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, command, shell, finding string
	}{
		{"sh", "- [ ] a\n  ```sh\n  make\n  make test\n  ```\n", "make\nmake test", "sh", ""},
		{"bash with more in the info", "- [ ] a\n\n  ```bash title=x\n  set -o pipefail\n  ```\n", "set -o pipefail", "bash", ""},
		{"console", "- [ ] a\n  ```console\n  $ make \\\n  > all\n  output\n  $ ls\n  ```\n", "make \\\nall\nls", "sh", ""},
		{"CRLF", "- [ ] a\r\n  ```sh\r\n  make\r\n  ls\r\n  ```\r\n", "make\nls", "sh", ""},
		{"tabs", "- [ ] a\n\t```sh\n\tmake\n\t\tindented\n\t```\n", "make\n\tindented", "sh", ""},
		{"tildes, capitals, no closing fence", "- [ ] a\n  ~~~SH\n  make\n", "make", "sh", ""},
		{"two blocks run one after the other", "- [ ] a\n  ```sh\n  one\n  ```\n  then\n  ```bash\n  two\n  ```\n", "one\ntwo", "bash", ""},
		{"in a bullet below", "- [ ] a\n  - run\n    ```sh\n    make\n    ```\n", "make", "sh", ""},
		{"a here document keeps its boxes", "- [ ] a\n  ```sh\n  cat <<E\n  - [ ] x\n  E\n  ```\n", "cat <<E\n- [ ] x\nE", "sh", ""},
		{"other languages are text", "- [ ] a\n  ```go\n  x := 1\n  ```\n", "", "", ""},
		{"shell", "- [ ] a\n  ```shell\n  make\n  ```\n", "", "", "a block `shell` is not the step's command"},
		{"empty", "- [ ] a\n  ```sh\n\n  ```\n", "", "", "the command block is empty"},
		{"console without a prompt", "- [ ] a\n  ```console\n  make\n  ```\n", "", "", "no line of the console block starts with `$ `"},
		{"prompts in sh", "- [ ] a\n  ```sh\n  $ make\n  ```\n", "$ make", "sh", "every line of the command starts with `$ `"},
		{"not indented", "- [ ] a\n\n```sh\nmake\n```\n", "", "", "this block belongs to no step"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tk, ds := Parse("t.md", []byte("# t\n\n"+c.in), Options{})
			if len(tk.Tasks) != 1 {
				t.Fatalf("%d tasks", len(tk.Tasks))
			}
			if got := tk.Tasks[0]; got.Command != c.command || got.Shell != c.shell {
				t.Errorf("command %q for %q, want %q for %q", got.Command, got.Shell, c.command, c.shell)
			}
			if c.finding == "" && len(ds) > 0 || c.finding != "" && (len(ds) != 1 || ds[0].Summary != c.finding) {
				t.Errorf("findings:\n%s", showFindings(ds))
			}
		})
	}
}

func TestCommandIsBoundByTheHash(t *testing.T) {
	t.Parallel()
	hash := func(fence, cmd string) string {
		return must(t, "# t\n- [ ] a\n  ```"+fence+"\n  "+cmd+"\n  ```\n", BuildOptions{}).ManifestHash()
	}
	if hash("sh", "make") == hash("sh", "make all") || hash("sh", "make") == hash("bash", "make") {
		t.Error("the manifest hash does not change with the command")
	}
	n := must(t, "- [ ] a\n  ```sh\n  make\n  ```\n", BuildOptions{}).Nodes[0]
	if n.Command != "make" || n.Shell != "" {
		t.Errorf("node %+v: a command for sh needs no shell", n)
	}
}

func TestCheckRunnable(t *testing.T) {
	t.Parallel()
	d := must(t, lines(
		"# t", "- [x] done", "- [-] cancelled", "- [~] T1 deferred", "- [ ] waits after T1", "- [ ] group", "  - [ ] has one", "    ```sh", "    make", "    ```",
		"- [ ] none", "- [ ] none either"), BuildOptions{})
	ds := CheckRunnable(d, false)
	if len(ds) != 1 || ds[0].Severity != "error" || ds[0].Line != 11 || ds[0].Detail != "lines 11-12" || !strings.HasPrefix(ds[0].Summary, "2 steps have nothing to run") {
		t.Errorf("findings %+v", ds)
	}
	if ds := CheckRunnable(d, true); ds != nil {
		t.Errorf("with an agent: %+v", ds)
	}
	d = must(t, "# t\nwords\n", BuildOptions{})
	if ds := CheckRunnable(d, false); len(ds) != 1 || !strings.HasPrefix(ds[0].Summary, "1 step has nothing to run") {
		t.Errorf("fallback: %+v", ds)
	}
}
