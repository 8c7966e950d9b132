package fsop

import (
	"testing"

	"github.com/ambit-run/ambit/fault"
)

func TestV1_V17_V22_OnlyPlainRelativePathsAreTaken(t *testing.T) {
	t.Parallel()
	bad := []string{
		"", "/", "/etc", "..", "../x", "a/..", "a/../b", "../", "a/../../b", ".//a", "./a", "a/.", "a/./b",
		"a//b", "a/", "//", "a\x00b", "\x00",
	}
	for _, rel := range bad {
		err := CheckRel(rel)
		if fault.CodeOf(err) != fault.Invalid {
			t.Errorf("CheckRel(%q) = %v, want invalid", rel, err)
		}
	}
	good := []string{
		".", "a", "a/b", "...", "..a", "a..", ".a", "-rf", "a b", " ", "a\nb", "\xff\xfe", "*", "a\\..\\b", "~", "\"q\"", "x/.../y",
	}
	for _, rel := range good {
		if err := CheckRel(rel); err != nil {
			t.Errorf("CheckRel(%q) = %v", rel, err)
		}
	}
}

func TestJoinAndSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dir, base, whole string }{{".", "a", "a"}, {"a", "b", "a/b"}, {"a/b", "c", "a/b/c"}} {
		if got := Join(c.dir, c.base); got != c.whole {
			t.Errorf("Join(%q, %q) = %q", c.dir, c.base, got)
		}
		if d, b := SplitRel(c.whole); d != c.dir || b != c.base {
			t.Errorf("SplitRel(%q) = %q, %q", c.whole, d, b)
		}
	}
}

func TestMessagesCarryNoControlBytes(t *testing.T) {
	t.Parallel()
	if got := show("a\x1b[2Jb"); got != `"a\x1b[2Jb"` {
		t.Errorf("show = %s", got)
	}
	if got := show("plain name"); got != "plain name" {
		t.Errorf("show = %s", got)
	}
}
