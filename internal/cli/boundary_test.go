package cli

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestShellWord lets a shell read what is printed.
func TestShellWord(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[a-z '"$\\!*~\x60\n\x1b-]{0,6}`),
		), 1, 200).Draw(t, "words")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\x00", "")
		}
		script := shellLine(append([]string{"printf", `%s\0`}, words...))
		if bad := strings.IndexFunc(strings.ReplaceAll(script, "\n", ""), func(r rune) bool { return r < ' ' || r == 0x7f }); bad >= 0 {
			t.Fatalf("a control character is printed: %q", script)
		}
		out, err := exec.Command(bash, "-c", script).Output()
		if want := strings.Join(words, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Fatalf("%v: %q is read as %q, want %q", err, script, out, want)
		}
	})
}
