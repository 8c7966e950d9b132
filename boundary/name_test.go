package boundary

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestContainerName(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"M-1002": "ambit-m-1002", "a.b_c": "ambit-a.b_c", "-": "ambit--",
		"a/b": "ambit-a-b-c14cddc033f64b9d", "a b": "ambit-a-b-c8687a08aa5d6ed2",
		"\u212a": "ambit---2bc4fb873d7946d6",
	} {
		s, err := New(id, "/w", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.ContainerName(); got != want {
			t.Errorf("%q is called %s, want %s", id, got, want)
		}
	}
	for _, n := range []int{maxName - len("ambit-"), maxName, 4000} {
		s, err := New(strings.Repeat("x", n), "/w", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.ContainerName(); len(got) != maxName {
			t.Errorf("an id of %d bytes makes a name of %d: %s", n, len(got), got)
		}
	}
	_, err := DockerArgv(good(t), "-x")
	refused(t, "option as name", err, "not a container's name")
	argv, err := DockerArgv(good(t), "Mine")
	if err != nil || argv[4] != "Mine" {
		t.Errorf("%v %q", err, argv)
	}
}

// TestNamesKeepTasksApart: docker takes every name, and two tasks share one only if
// their ids differ in case alone.
func TestNamesKeepTasksApart(t *testing.T) {
	t.Parallel()
	id := rapid.StringMatching(`[a-zA-Z0-9 /._éK日-]{1,150}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		names := map[string]string{}
		for _, id := range []string{a, b} {
			s, err := New(id, "/w", Options{})
			if err != nil {
				t.Fatal(err)
			}
			n := s.ContainerName()
			if !containerName.MatchString(n) || len(n) > maxName || strings.ToLower(n) != n {
				t.Fatalf("%q is called %q", id, n)
			}
			if other, ok := names[n]; ok && !strings.EqualFold(other, id) {
				t.Fatalf("%q and %q are both called %s", other, id, n)
			}
			names[n] = id
		}
	})
}
