package changeset

import (
	"fmt"
	"strings"
	"testing"
)

func TestSplitIgnored(t *testing.T) {
	t.Parallel()
	dir, file := &Entry{Kind: Dir}, &Entry{Kind: File}
	created := func(path string, e *Entry) Change { return Change{Path: path, Op: Created, After: e} }
	changes := []Change{
		created("a", dir), // holds ignored things only
		created("a/b", dir),
		created("a/b/x.o", file),
		created("c", dir), // holds both
		created("c/x.o", file),
		created("c/y", file),
		created("d", dir),                                      // empty
		{Path: "e", Op: Deleted, Before: dir},                  // gone with ignored things only
		{Path: "e/x.o", Op: Deleted, Before: file},             //
		{Path: "f", Op: Modified, Before: dir, After: dir},     // was there before
		created("f/x.o", file),                                 //
		created("g", dir),                                      // ignored itself
		created("g/y", file),                                   //
		{Path: "h", Op: Modified, Before: file, After: dir},    // was something else
		created("h/x.o", file),                                 //
		{Path: "x.o", Op: Modified, Before: file, After: file}, //
		{Path: "y", Op: Deleted, Before: dir},                  // gone with both: what was ignored keeps the real one
		{Path: "y/kept", Op: Deleted, Before: file},
		{Path: "y/x.o", Op: Deleted, Before: file},
		{Path: "z", Op: Deleted, Before: &Entry{Kind: Symlink}}, //
	}
	hit := map[string]bool{"g/": true, "g/y": true}
	for _, p := range IgnorePaths(changes) {
		if strings.HasSuffix(p, ".o") {
			hit[p] = true
		}
	}
	paths := func(cs []Change) string {
		var out []string
		for _, c := range cs {
			out = append(out, c.Path)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		empty         bool
		kept, ignored string
	}{
		{true, "c c/y d f h y/kept z", "a a/b a/b/x.o c/x.o e e/x.o f/x.o g g/y h/x.o x.o y y/x.o"},
		{false, "a a/b c c/y d e f h y y/kept z", "a/b/x.o c/x.o e/x.o f/x.o g g/y h/x.o x.o y/x.o"},
	} {
		kept, ignored := SplitIgnored(changes, hit, c.empty)
		if paths(kept) != c.kept || paths(ignored) != c.ignored {
			t.Errorf("empty %v: kept %q, ignored %q", c.empty, paths(kept), paths(ignored))
		}
	}
	if got := fmt.Sprint(IgnorePaths(changes[:3])); got != "[a/ a/b/ a/b/x.o]" {
		t.Error(got)
	}
	kept, ignored := SplitIgnored(nil, nil, true)
	if len(kept)+len(ignored) != 0 {
		t.Error("something out of nothing")
	}
}
