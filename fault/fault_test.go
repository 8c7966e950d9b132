package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk is full")
	for _, x := range []struct {
		err  *Error
		want string
	}{
		{New(NotFound, "open plan", "no plan %q", "x"), `open plan: no plan "x"`},
		{New(NotFound, "", "no plan"), "no plan"},
		{Wrap(Internal, "write journal", cause), "write journal: disk is full"},
		{New(Conflict, "apply", "two paths").WithCause(cause), "apply: two paths: disk is full"},
		{&Error{Code: Timeout}, "timeout"},
	} {
		if got := x.err.Error(); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	inner := New(Denied, "open", "no")
	for _, x := range []struct {
		name string
		err  error
		want Code
	}{
		{"nil", nil, ""},
		{"plain", errors.New("x"), Internal},
		{"fault", inner, Denied},
		{"wrapped by fmt", fmt.Errorf("stage: %w", inner), Denied},
		{"the outermost wins", Wrap(Conflict, "apply", inner), Conflict},
		{"empty code keeps the cause's", Wrap("", "apply", inner), Denied},
		{"canceled", fmt.Errorf("run: %w", context.Canceled), Canceled},
		{"deadline", fmt.Errorf("run: %w", context.DeadlineExceeded), Timeout},
		{"wrapping a context error without a code", Wrap("", "run", context.Canceled), Canceled},
		{"joined", errors.Join(errors.New("x"), inner), Denied},
	} {
		if got := CodeOf(x.err); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
		if x.err != nil && !Is(x.err, x.want) {
			t.Errorf("%s: Is(%q) is false", x.name, x.want)
		}
		if x.err == nil && Is(x.err, "") {
			t.Error("nil carries a code")
		}
	}
}

func TestWrapKeepsWhatAPersonNeeds(t *testing.T) {
	t.Parallel()
	inner := New(Conflict, "prepare", "paths changed").WithHint("run %s", "ambit rebase").WithPaths("a", "b")
	inner.Diagnostics = []Diagnostic{{Severity: SeverityError, Summary: "s"}}
	outer := Wrap("", "apply plan", fmt.Errorf("sandbox s1: %w", inner))
	if outer.Code != Conflict || outer.Hint != "run ambit rebase" || len(outer.Paths) != 2 || len(outer.Diagnostics) != 1 {
		t.Errorf("lost on the way: %+v", outer)
	}
	if !errors.Is(outer, inner) {
		t.Error("the cause is out of reach")
	}
	if got := outer.Error(); got != "apply plan: sandbox s1: prepare: paths changed" {
		t.Errorf("text %q", got)
	}
}

func TestWithReturnsCopies(t *testing.T) {
	t.Parallel()
	base := New(Invalid, "op", "m")
	paths := []string{"a"}
	got := base.WithHint("h").WithPaths(paths...).WithCause(fs.ErrExist)
	paths[0] = "changed"
	if base.Hint != "" || base.Paths != nil || base.Cause != nil {
		t.Errorf("the original changed: %+v", base)
	}
	if got.Paths[0] != "a" || got.Hint != "h" || !errors.Is(got, fs.ErrExist) {
		t.Errorf("copy: %+v", got)
	}
}

func TestAs(t *testing.T) {
	t.Parallel()
	if As(nil) != nil {
		t.Error("nil became an error")
	}
	e := New(Exists, "", "x")
	if As(e) != e {
		t.Error("an *Error was wrapped again")
	}
	w := As(fmt.Errorf("stage: %w", e))
	if w.Code != Exists || w.Error() != "stage: x" {
		t.Errorf("wrapped: %+v", w)
	}
	if got := As(errors.New("x")); got.Code != Internal {
		t.Errorf("foreign error: %q", got.Code)
	}
}

func TestCodesAreTheClosedSet(t *testing.T) {
	t.Parallel()
	seen := map[Code]bool{}
	for _, c := range Codes() {
		if c == "" || seen[c] || strings.ToLower(string(c)) != string(c) {
			t.Errorf("code %q is empty, twice there or not lower case", c)
		}
		seen[c] = true
	}
	if len(seen) != 12 {
		t.Errorf("%d codes; a new one needs a row in every face's table", len(seen))
	}
}

func TestDiagnosticText(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		d    Diagnostic
		want string
	}{
		{Diagnostic{Severity: SeverityError, File: "t.md", Line: 3, Column: 7, Summary: "s"}, "t.md:3:7: error: s"},
		{Diagnostic{Severity: SeverityWarning, File: "t.md", Line: 3, Summary: "s"}, "t.md:3: warning: s"},
		{Diagnostic{Severity: SeverityNote, File: "t.md", Summary: "s"}, "t.md: note: s"},
		{Diagnostic{Severity: SeverityNote, File: "t.md", Column: 4, Summary: "s"}, "t.md: note: s"},
		{Diagnostic{Severity: SeverityError, Summary: "s"}, "error: s"},
	} {
		if got := x.d.String(); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
	if HasErrors([]Diagnostic{{Severity: SeverityWarning}, {Severity: SeverityNote}}) || !HasErrors([]Diagnostic{{Severity: SeverityNote}, {Severity: SeverityError}}) {
		t.Error("HasErrors")
	}
}
