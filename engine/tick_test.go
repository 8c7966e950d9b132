package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tickInto runs the script that writes a ticket, as gitInside does, after setup.
func tickInto(t *testing.T, setup, file, text string) error {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", setup+`exec /bin/sh -c "$0" sh "$1"`, tickWrite, file)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	return err
}

// TestATicketIsMarkedWholeOrNotAtAll: where there is no room for the marked
// ticket, the old one stays, and nothing beside it.
func TestATicketIsMarkedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "-my ticket.md")
	old := strings.Repeat("- [ ] x\n", 200)
	if err := os.WriteFile(file, []byte(old), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Base(file), filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	// A bound on the size of files stands in for the full disk: 2 blocks of at
	// least 512 bytes, where old takes 1600.
	if err := tickInto(t, "trap '' XFSZ; ulimit -f 2; ", file, strings.Repeat("- [x] x\n", 2000)); err == nil {
		t.Error("no failure")
	}
	want := func(text string) {
		t.Helper()
		if raw, err := os.ReadFile(file); err != nil || string(raw) != text {
			t.Errorf("the ticket holds %d bytes, not %d: %v", len(raw), len(text), err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 {
			t.Errorf("%v, %v", entries, err)
		}
	}
	want(old)
	if err := tickInto(t, "", filepath.Join(dir, "link.md"), "marked\n"); err != nil {
		t.Error(err)
	}
	want("marked\n")
	if info, err := os.Lstat(file); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.md")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
}

func TestNamesAreShortened(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1000)
	for _, c := range []struct{ got, want string }{
		{shorten("abcd", 4), "abcd"},
		{shorten("abcde", 4), "abc…"},
		{shorten("üüüüü", 4), "üüü…"},
		{shorten("", 4), ""},
		{counted(1, "commit", []string{"a"}), "1 commit (a)"},
		{counted(2, "commit", nil), "2 commits"},
		{counted(7, "branch or tag", []string{"a", "b", "c", "d", "e", "f"}), "7 branches or tags (a, b, c, d, e, …)"},
		{counted(1, "commit", []string{long}), "1 commit (" + long[:2*(nameShown-1)] + "…)"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
