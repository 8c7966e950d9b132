package ticket

import (
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// DefaultAcceptanceHeadings are the headings under which boxes are acceptance.
func DefaultAcceptanceHeadings() []string {
	return []string{"Acceptance", "Acceptance Criteria", "Definition of Done", "Success Criteria", "Checklist for reviewers"}
}

// The level 2 sections that mean something besides acceptance, by plain name.
const (
	sectionTasks        = "tasks"
	sectionFiles        = "files created"
	sectionTests        = "tests"
	sectionDependencies = "dependencies"
)

// sectionsWithoutWork never hold steps. Only level 2 counts: `### Tests` is what
// many call a group of tasks.
var sectionsWithoutWork = []string{"evidence log", sectionDependencies, sectionFiles, sectionTests, "description", "notes"}

// plainHeading reduces a heading to its words in lower case: no numbering, emoji,
// markup or punctuation.
func plainHeading(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
	for len(words) > 0 && strings.IndexFunc(words[0], unicode.IsLetter) < 0 {
		words = words[1:]
	}
	return strings.Join(words, " ")
}

// beforeRemark cuts a heading where a remark begins: "Done when (all)", "Done:
// all", "Done — all".
func beforeRemark(s string) string {
	for _, sep := range []string{"(", ":", " - ", " – ", " — "} {
		s, _, _ = strings.Cut(s, sep)
	}
	return s
}

// acceptanceNames is the set of plain headings that mean acceptance.
type acceptanceNames []string

func newAcceptanceNames(headings []string) acceptanceNames {
	if headings == nil {
		headings = DefaultAcceptanceHeadings()
	}
	var names acceptanceNames
	for _, h := range headings {
		if p := plainHeading(h); p != "" {
			names = append(names, p)
		}
	}
	return names
}

func (a acceptanceNames) match(heading string) bool {
	return slices.Contains(a, plainHeading(heading)) || slices.Contains(a, plainHeading(beforeRemark(heading)))
}

// matchLine reports whether a line of text stands for an acceptance heading: its
// words and nothing more, in bold or with a colon.
func (a acceptanceNames) matchLine(line string) bool {
	const longest = 200 // no heading is longer; do not look at prose
	line = strings.TrimSpace(line)
	if line == "" || len(line) > longest {
		return false
	}
	bare := strings.TrimRight(line, "*_: ")
	marked := bare != line || strings.HasPrefix(line, "**") || strings.HasPrefix(line, "__")
	return marked && a.match(line)
}

// section is where a block stands.
type section struct {
	title      string // the nearest heading, as written
	name       string // plain name of the level 2 heading, "" before the first
	heading    string // that heading as written
	acceptance int    // level of the acceptance heading it is under; 0 = none
}

// enter returns the section that a heading opens.
func (s section) enter(level int, title string, names acceptanceNames) section {
	s.title = title
	if level <= 2 {
		s.name, s.heading = "", title
		if level == 2 {
			s.name = plainHeading(title)
		}
	}
	if s.acceptance == 0 || level <= s.acceptance {
		s.acceptance = 0
		if names.match(title) {
			s.acceptance = level
		}
	}
	return s
}

// checklistWords are words by which a heading says that the boxes below it check
// the list itself, where a notation knows such lists.
var checklistWords = []string{"checklist", "チェックリスト", "检查清单", "檢查清單", "检查表", "체크리스트"}

func isChecklist(title string) bool { return containsAny(strings.ToLower(title), checklistWords) }

func (s section) withoutWork() bool { return slices.Contains(sectionsWithoutWork, s.name) }

// headingText returns the text of a heading without its marks.
func (r *region) headingText(h *ast.Heading) string {
	var parts []string
	for _, l := range r.rawLines(h) {
		parts = append(parts, strings.TrimSpace(l.text))
	}
	return strings.Join(parts, " ")
}
