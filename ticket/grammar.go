package ticket

// The grammars.
const (
	// GrammarPractical reads tickets as people write them.
	GrammarPractical = "practical"
	// GrammarLiteral reads tickets by the three regular expressions and the section
	// rules of the format, to the byte, repairs nothing, and is stopped by no
	// finding: what another implementation makes of a ticket by these rules, and
	// its manifest hash, come out the same.
	GrammarLiteral = "literal"
)

// grammar reads the body of a ticket: it fills in Tasks, Files, Tests and what
// front matter left open (objective, acceptance), and reports what it found.
// Front matter, encoding and size are settled before it is asked.
type grammar interface {
	name() string
	read(src *source, t *Ticket, rep *report, opts *Options)
}

// grammars lists what this version can read.
func grammars() []grammar { return []grammar{practical{}, literal{}} }

// Grammars returns the names Options.Grammar takes.
func Grammars() []string {
	var names []string
	for _, g := range grammars() {
		names = append(names, g.name())
	}
	return names
}

func grammarNamed(name string) grammar {
	if name == "" {
		name = GrammarPractical
	}
	for _, g := range grammars() {
		if g.name() == name {
			return g
		}
	}
	return nil
}
