package cli

import (
	"slices"
	"testing"
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
