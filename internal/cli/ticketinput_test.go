package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

func TestNaturalOrder(t *testing.T) {
	t.Parallel()
	want := []string{"a.md", "Task-1 - x.md", "task-1.1 - y.md", "task-2.md", "task-02a.md", "task-10.md", "task-100.md", "z.md"}
	for k := range want {
		got := slices.Concat(want[k:], want[:k])
		slices.SortFunc(got, natural)
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	for _, a := range want {
		for _, b := range want {
			if (natural(a, b) == 0) != (a == b) || natural(a, b) > 0 != (natural(b, a) < 0) {
				t.Errorf("%s and %s: %d and %d", a, b, natural(a, b), natural(b, a))
			}
		}
	}
}

func TestIssueNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"gh:acme/links#12": true, "gh:a/.github#1": true, "gh:acme/li_n-k.s#1234567890": true,
		"gh:acme/links": false, "gh:acme/links#0": false, "gh:-a/b#1": false, "gh:a/-b#1": false, "gh:a/b#1 --web": false, "gh:a/b/c#1": false, "gh:a/b#-1": false,
	} {
		if issueName().MatchString(name) != ok {
			t.Errorf("%s: %v", name, !ok)
		}
	}
}

func TestNearby(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, n := range []string{"ticket.md", "Plan.MD", ".hidden.md", "other.txt"} {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "backlog"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"tickt.md": "ticket.md", "ticket": "ticket.md", "plan.md": "Plan.MD", "backlgo": "backlog", "./tikcet.md": "./ticket.md",
		"hidden.md": "", "something.md": "", "no/ticket.md": "",
	} {
		if got := nearby(name, filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestFinishedBefore: what lies beside a ticket counts whatever the case of its
// extension, as it does in a folder of tickets.
func TestFinishedBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n, text := range map[string]string{"a.md": "---\nid: a\ndepends_on: [b, c]\n---\n- [ ] a\n", "B.MD": "---\nid: b\n---\n- [x] b\n", "c.txt": "---\nid: c\n---\n- [x] c\n"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	done, found := finishedBefore(&ticket.Ticket{DependsOn: []string{"b", "c"}}, filepath.Join(dir, "a.md"), nil)
	if !slices.Equal(done, []string{"b"}) || len(found) != 0 {
		t.Errorf("%q, %v", done, found)
	}
}

// TestNoTicketsHere: a folder without tickets points at those further down, whatever
// the case of their extension.
func TestNoTicketsHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "backlog/tasks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "backlog/tasks/T.MD"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := folderInput("here", dir)
	if f := fault.As(err); err == nil || f.Hint != "there are tickets in here/backlog/tasks" {
		t.Errorf("%v", err)
	}
}
