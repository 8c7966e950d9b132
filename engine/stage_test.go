package engine

import "testing"

func TestO32_V1_WithinComparesComponents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		base, path string
		want       bool
	}{
		{"/tmp/sandbox", "/tmp/sandbox", true},
		{"/tmp/sandbox", "/tmp/sandbox/a", true},
		{"/tmp/sandbox", "/tmp/sandbox-escape", false},
		{"/tmp/sandbox", "/tmp", false},
		{"/", "/anything", true},
	} {
		if got := within(tt.base, tt.path); got != tt.want {
			t.Errorf("within(%q, %q) = %v", tt.base, tt.path, got)
		}
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Fix Login": "fix-login", "--x--": "x", "日本": "plan", "": "plan", "../../etc": "etc",
		"a very long name that goes on and on": "a-very-long-name-that-go",
	} {
		if got := slug(in, 24); got != want {
			t.Errorf("slug(%q) = %q, want %q", in, got, want)
		}
	}
}
