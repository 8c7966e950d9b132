package typo

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"try", "run", "status", "diff", "apply", "undo", "discard", "restore", "recover", "exit-code"}
	for _, tt := range []struct{ given, want string }{
		{"aply", "apply"},
		{"appyl", "apply"}, // neighbours swapped
		{"applyy", "apply"},
		{"stauts", "status"},
		{"exitcode", "exit-code"},
		{"tr", "try"},
		{"rnu", "run"},
		{"x", ""},
		{"deploy", ""},
		{"", ""},
		{"recovers", "recover"},
	} {
		if got := Nearest(tt.given, known); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.given, got, tt.want)
		}
	}
}
