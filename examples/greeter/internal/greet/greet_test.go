package greet

import (
	"strings"
	"testing"
)

func TestGreet(t *testing.T) {
	for _, x := range []struct{ name, accept, want string }{
		{"Ada", "", "Hello, Ada!"},
		{"", "", "Hello, world!"},
		{"Ada", "de-AT,en;q=0.5", "Hallo, Ada!"},
		{"Ada", "tlh, fr;q=0.8", "Bonjour, Ada!"},
	} {
		got, err := New().Greet(x.name, x.accept)
		if err != nil || got != x.want {
			t.Errorf("%q in %q: %q, %v, want %q", x.name, x.accept, got, err, x.want)
		}
	}
	if _, err := New().Greet(strings.Repeat("é", MaxName+1), ""); err == nil {
		t.Error("a name beyond the limit was greeted")
	}
}
