package ticket

import (
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// The formats: notations in which other programs keep their tasks. All of them are
// Markdown with boxes and are read by the practical grammar; a format says what
// else is written in the file and in which order its author means the list.
const (
	FormatAuto     = "auto"     // whichever the file looks like
	FormatAmbit    = "ambit"    // the practical grammar and nothing else
	FormatSpecKit  = "spec-kit" // T001 [P] [US1], in phases
	FormatKiro     = "kiro"     // 1.2 with _Requirements_ and a table of waves
	FormatOpenSpec = "openspec" // numbered sections, in order
	FormatGitHub   = "github"   // the text of an issue
	FormatBacklog  = "backlog"  // Backlog.md: one file is one task
	FormatObsidian = "obsidian" // Obsidian Tasks: 🆔, ⛔, dates, priorities
)

// format is one notation. An implementation holds no state: it is asked about one
// file and works on the reader of that file.
type format interface {
	name() string
	// recognize tells from the signs of a file how sure it is that the file is in
	// this notation, 0 = not, and why, as the end of "read as …: ".
	recognize(s *signs) (sure int, why string)
	// prepare sets what is read differently, before the body is.
	prepare(r *reader)
	// tags takes the marks of the notation out of a task's text: it sets the fields
	// of the task and returns where the marks stand.
	tags(t *Task, text string) []span
	// arrange adds the order that the notation implies, once all tasks are linked.
	arrange(l *linker)
}

// formats lists what this version reads, in the order in which they are asked:
// of equally sure ones the first wins.
func formats() []format {
	return []format{ambit{}, specKit{}, kiro{}, openSpec{}, gitHub{}, backlog{}, obsidian{}}
}

// Formats returns the names Options.Format takes.
func Formats() []string {
	names := []string{FormatAuto}
	for _, f := range formats() {
		names = append(names, f.name())
	}
	return names
}

// ambit is the practical grammar without additions, and the base of the others.
type ambit struct{}

func (ambit) name() string                   { return FormatAmbit }
func (ambit) recognize(*signs) (int, string) { return 0, "" }
func (ambit) prepare(*reader)                {}
func (ambit) tags(*Task, string) []span      { return nil }
func (ambit) arrange(*linker)                {}

// variations is what a format changes in how the practical grammar reads.
type variations struct {
	quotes       bool // boxes in quotes are tasks
	otherMarks   bool // a box with an unknown mark is to do
	numbering    bool // labels only number the list: the same one twice is no error
	foreignIDs   bool // an id that is not here is one of another file
	issueNumbers bool // #12 is an issue, never the twelfth task
	checklists   bool // boxes under headings that say checklist are acceptance
	whole        bool // the file is one step
}

// chooseFormat settles the format of a file and says so if it had to be guessed.
func chooseFormat(s *source, t *Ticket, rep *report, want string, quiet bool) format {
	if want == "" {
		want = FormatAmbit
	}
	if want != FormatAuto {
		for _, f := range formats() {
			if f.name() == want {
				t.Format = want
				return f
			}
		}
		rep.err(0, 0, finding{
			code: fault.Unsupported, summary: fmt.Sprintf("format %q is not supported by this version", want),
			hint: "known are " + strings.Join(Formats(), ", "),
		})
		return nil
	}
	signs := readSigns(s, t.File)
	best, sure, why := format(ambit{}), 0, "nothing in it is of another notation"
	for _, f := range formats() {
		if n, w := f.recognize(signs); n > sure {
			best, sure, why = f, n, w
		}
	}
	t.Format, t.FormatWhy = best.name(), why
	if sure > 0 && !quiet {
		rep.note(0, 0, finding{
			summary: fmt.Sprintf("read as %s: %s", best.name(), why),
			hint:    fmt.Sprintf("--format %s reads only what is written out; known are %s", FormatAmbit, strings.Join(Formats(), ", ")),
		})
	}
	return best
}
