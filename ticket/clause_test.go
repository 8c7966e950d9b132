package ticket

import (
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// TestDeclaredDependenciesAreNotLost: what a step says it waits for is an edge, and
// the words that say it are gone from the title.
func TestDeclaredDependenciesAreNotLost(t *testing.T) {
	t.Parallel()
	const labelled = "- [ ] T1 one\n- [ ] T2 two\n- [ ] T3 three\n- [ ] T4 go"
	const dotted = "- [ ] 1.1 one\n- [ ] 1.2 two\n- [ ] 1.3 three\n- [ ] 1.4 go"
	const plain = "- [ ] one\n- [ ] two\n- [ ] three\n- [ ] go"
	for _, tt := range []struct {
		head, clause string
		want         []int
	}{
		{labelled, " depends on T1 (and T3)", []int{1, 3}},
		{labelled, " depends on T1 (and T2, T3)", []int{1, 2, 3}},
		{labelled, " (depends on T1, and T3)", []int{1, 3}},
		{labelled, " depends on T1\n  and T3", []int{1, 3}},
		{labelled, " depends on T1\n  or T3", []int{1, 3}},
		{labelled, " depends on T1\n  , T3", []int{1, 3}},
		{labelled, " depends on T1 or T2", []int{1, 2}},
		{labelled, " depends on T1, or T2", []int{1, 2}},
		{labelled, " depends on T1 then T2", []int{1, 2}},
		{labelled, " Depends on: T1 T2", []int{1, 2}},
		{labelled, " depends on T1 T2 T3", []int{1, 2, 3}},
		{labelled, " depends on:\n  - T1\n  - T3", []int{1, 3}},
		{labelled, " depends on\n  - T1\n  - T3", []int{1, 3}},
		{labelled, "\n  depends on:\n  - T1\n  - T3", []int{1, 3}},
		{labelled, "\n  - Depends on:\n    - T1\n    - T3", []int{1, 3}},
		{labelled, "\n  - Depends on: T1 T3", []int{1, 3}},
		{labelled, "\n  - Depends on: T1 or T3", []int{1, 3}},
		{labelled, "\n\n  Depends on: T1,\n  T3", []int{1, 3}},
		{labelled, "\n\n  Depends on: T1\n  and T3", []int{1, 3}},
		{labelled, ` depends on "T1"`, []int{1}},
		{labelled, " depends on “T1” and 'T2'", []int{1, 2}},
		{labelled, " depends on both T1 and T2", []int{1, 2}},
		{labelled, " depends on either T1 or T2", []int{1, 2}},
		{labelled, " depends on #T1", []int{1}},
		{labelled, " depends on #T1, #T2", []int{1, 2}},
		{labelled, " no longer requires T1", nil},
		{labelled, " is not blocked by T1", nil},
		{labelled, " never after T1", nil},
		{labelled, " isn't yet blocked by T1", nil},
		{labelled, " no longer requires T1, depends on T2", []int{2}},
		{labelled, " cleans the knot, depends on T1", []int{1}},
		{labelled, " depends on T3-T1", []int{1, 2, 3}},
		{dotted, " depends on 1.3-1.1", []int{1, 2, 3}},
		{dotted, " depends on 1.1 or 1.2", []int{1, 2}},
		{dotted, " depends on: 1.1 1.2", []int{1, 2}},
		{plain, " depends on 1 or 2", []int{1, 2}},
		{plain, " depends on 3-1", []int{1, 2, 3}},
		{plain, " after 2 or 3 days", nil},
		{plain, " after 2 hours or 3", nil},
		{labelled, " after T1 2 days", []int{1}},
	} {
		text := tt.head + tt.clause + "\n"
		got, found := Parse("t.md", []byte(text), Options{})
		if len(got.Tasks) != 4 {
			t.Errorf("%q: %d tasks", text, len(got.Tasks))
			continue
		}
		var deps []int
		for _, r := range got.Tasks[3].DependsOn {
			deps = append(deps, r.Task)
		}
		if !slices.Equal(deps, tt.want) {
			t.Errorf("%q: waits for %v, want %v; %v", text, deps, tt.want, found)
		}
		if title := got.Tasks[3].Title; len(tt.want) > 1 && !strings.HasSuffix(title, "go") {
			t.Errorf("%q: title %q", text, title)
		}
		if tt.want == nil && !strings.Contains(text, "days") && !strings.Contains(text, "hours") && !slices.ContainsFunc(found, func(d fault.Diagnostic) bool {
			return strings.Contains(d.Summary, "negated")
		}) {
			t.Errorf("%q: the negation is not told: %v", text, found)
		}
	}
}

// TestHalfKnownRangesAreErrors: rule 4 of the format. A reversed range is read, and
// warned of.
func TestHalfKnownRangesAreErrors(t *testing.T) {
	t.Parallel()
	for clause, want := range map[string]fault.Severity{
		"depends on T003-T001": fault.SeverityWarning, "depends on T003 to T001": fault.SeverityWarning, "depends on T009-T001": fault.SeverityError,
		"depends on T001-T009": fault.SeverityError, "depends on T001 or T009": fault.SeverityError, "depends on: T001 T009": fault.SeverityError,
		"depends on T001 (see T002, too)": fault.SeverityWarning, "depends on T001 as well as T002": fault.SeverityWarning,
		"depends on T001 | T002": fault.SeverityWarning, "depends on [T001, T002]": fault.SeverityWarning, "depends on the T001": fault.SeverityWarning,
	} {
		_, found := Parse("t.md", []byte("# T\n- [ ] T001 a\n- [ ] T002 b\n- [ ] T003 c\n- [ ] T004 d "+clause+"\n"), Options{})
		if len(found) == 0 || found[0].Severity != want || found[0].Line != 5 {
			t.Errorf("%s: %v", clause, found)
		}
	}
	for clause, want := range map[string]fault.Severity{
		"depends on 1.1-1.9": fault.SeverityError, "depends on 1.2-1.9": fault.SeverityError, "depends on 3.1-3.4": fault.SeverityError,
		"depends on 1.2-1.1": fault.SeverityWarning, "depends on 1.1 or 1.9": fault.SeverityError, "depends on: 7 8": fault.SeverityWarning, "depends on: none": fault.SeverityNote, "after 2-3 days": fault.SeverityNote,
	} {
		_, found := Parse("t.md", []byte("# T\n- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 d "+clause+"\n"), Options{})
		if len(found) == 0 || found[0].Severity != want {
			t.Errorf("%s: %v", clause, found)
		}
	}
}
