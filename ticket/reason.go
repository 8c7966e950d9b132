package ticket

import "fmt"

// ReasonKind says where a dependency of a step comes from.
type ReasonKind string

// The kinds of reasons.
const (
	ReasonDeclared      ReasonKind = "declared"      // the ticket says it in so many words
	ReasonNested        ReasonKind = "nested"        // a step waits for the steps nested in it
	ReasonInherited     ReasonKind = "inherited"     // what it is nested in waits for it
	ReasonPrerequisites ReasonKind = "prerequisites" // the ticket as a whole waits for other tickets
	ReasonList          ReasonKind = "list"          // the notation runs its list in order
	ReasonSection       ReasonKind = "section"       // the notation runs its sections in order
	ReasonWave          ReasonKind = "wave"          // the ticket has a table of waves
	ReasonSequential    ReasonKind = "sequential"    // BuildOptions.Sequential
)

// Reason says why a step waits for another. It orders nothing and no hash binds it.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	Line int        `json:"line,omitempty"` // where it is said; 0 = nowhere in particular
	Text string     `json:"text,omitempty"` // the words or the heading it goes by
}

// String renders a reason for a person: "declared in line 12 as T001".
func (r Reason) String() string {
	s := ""
	switch r.Kind {
	case ReasonDeclared:
		if s = "declared"; r.Line > 0 {
			s += fmt.Sprintf(" in line %d", r.Line)
		}
		if r.Text != "" {
			s += " as " + clip(r.Text)
		}
		return s
	case ReasonNested:
		return "nested in it"
	case ReasonInherited:
		return "what it is nested in waits for it"
	case ReasonPrerequisites:
		return "tickets that come first"
	case ReasonList:
		s = "order of the list"
	case ReasonSection:
		s = "order of the sections"
	case ReasonWave:
		s = "table of waves"
	case ReasonSequential:
		return "--sequential"
	}
	if r.Text != "" {
		s += ": " + clip(r.Text)
	}
	return s
}
