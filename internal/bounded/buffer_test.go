package bounded

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	b := &Buffer{Max: 5}
	for range 3 {
		if n, err := fmt.Fprint(b, "abc"); n != 3 || err != nil {
			t.Fatal(n, err)
		}
	}
	if b.String() != "abcab" || string(b.Bytes()) != "abcab" || !b.Over() {
		t.Errorf("%q, over %v", b, b.Over())
	}
	whole := &Buffer{Max: 3}
	if _, err := fmt.Fprint(whole, "xxx"); err != nil || whole.Over() {
		t.Error("what fits is not over", err)
	}
}

// TestIoCopyMeetsTheBound: io.Copy prefers a ReadFrom to Write, and os/exec copies
// with io.Copy.
func TestIoCopyMeetsTheBound(t *testing.T) {
	t.Parallel()
	b := &Buffer{Max: 5}
	n, err := io.Copy(b, io.LimitReader(strings.NewReader(strings.Repeat("x", 1000)), 1000))
	if n != 1000 || err != nil || b.String() != "xxxxx" || !b.Over() {
		t.Errorf("%d, %v, %q", n, err, b)
	}
}

func TestRefuseFailsTheWrite(t *testing.T) {
	t.Parallel()
	b := &Buffer{Max: 4, Refuse: true}
	if n, err := b.Write([]byte("1234")); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := b.Write([]byte("5")); n != 0 || err == nil || !b.Over() || b.String() != "1234" {
		t.Errorf("%d, %v, %q", n, err, b)
	}
}
