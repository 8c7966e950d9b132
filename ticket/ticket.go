package ticket

// DefaultMaxBytes is the largest ticket Parse takes unless told otherwise: 8 MiB,
// ten times the largest task file that was found in the wild.
const DefaultMaxBytes = 8 << 20

// MaxLines is how many lines one ticket may have: ten times the largest task file
// that was found in the wild. A tree is made of them that takes a kilobyte each.
const MaxLines = 250_000

// MaxTasks is how many tasks one ticket may have: thirty times the largest task
// file that was found in the wild. Each becomes a node, a row on a screen and
// perhaps a sandbox.
const MaxTasks = 100_000

// Options for Parse. The zero value is the practical grammar with its defaults.
type Options struct {
	// MaxBytes limits the size of the file in bytes; 0 means DefaultMaxBytes.
	MaxBytes int
	// Grammar names how the body is read; "" means GrammarPractical. A name that
	// Grammars does not list is an error diagnostic with code unsupported.
	Grammar string
	// Format names the notation that the practical grammar reads: one of Formats.
	// "" means FormatAmbit; FormatAuto decides by what the file shows, and says so.
	// The literal grammar knows no formats.
	Format string
	// ID and Objective are used where the file states none, instead of its name.
	ID, Objective string
	// AcceptanceHeadings replaces the headings under which boxes are acceptance
	// and not work; nil means DefaultAcceptanceHeadings. Case, decoration,
	// numbering and level do not matter.
	AcceptanceHeadings []string

	reads    format   // what Format comes to for this file
	together bool     // it is read with others
	siblings []string // and these are their ids
}

// Ticket is what one file says. All lists are in the order of the file.
type Ticket struct {
	File       string   `json:"file"`   // name as given to Parse
	Format     string   `json:"format"` // how it was read: one of Formats, or GrammarLiteral
	FormatWhy  string   `json:"format_why,omitempty"`
	ID         string   `json:"id"`        // front matter, or the file's name without extension
	Objective  string   `json:"objective"` // front matter, or the first level 1 heading, or the id
	Acceptance []string `json:"acceptance,omitempty"`
	// Scope holds the scope keys: what the ticket may work on. A scheduling fact,
	// not a permission.
	Scope []string `json:"scope,omitempty"`
	// DependsOn holds ids of other tickets that come before this one.
	DependsOn []string `json:"depends_on,omitempty"`
	// Project, Resources, Image and Network are requests, granted by others.
	Project   string   `json:"project,omitempty"`
	Resources []string `json:"resources,omitempty"`
	Image     string   `json:"image,omitempty"`
	Network   string   `json:"network,omitempty"`
	// Files and Tests are the paths of the sections Files Created and Tests;
	// TestCommands are the bullets of Tests that are commands.
	Files        []string `json:"files,omitempty"`
	Tests        []string `json:"tests,omitempty"`
	TestCommands []string `json:"test_commands,omitempty"`
	Tasks        []Task   `json:"tasks,omitempty"`
	// Sequences hold the order that the format implies.
	Sequences []Sequence `json:"sequences,omitempty"`
	// NoTasks says why no task was read, for a person; empty if there are tasks.
	NoTasks string `json:"no_tasks,omitempty"`
	// Text is the body without front matter, line ends as LF.
	Text string `json:"-"`

	// Lines of front matter, 0 = not there; what Backlog.md says there.
	idLine, dependsLine, titleLine int
	status, parent                 string

	openUnread int // line of the first box that was not read and is not ticked; 0 = none
}

// State is what a task's box says.
type State string

// States of a box.
const (
	StateTodo      State = "todo"      // [ ]
	StateDoing     State = "doing"     // [/]: somebody began; planned like todo
	StateDone      State = "done"      // [x] [X] [✓] [✔] [✅] [☑]
	StateCancelled State = "cancelled" // [-]: never runs, satisfies what depends on it
	StateDeferred  State = "deferred"  // [~]: does not run now, holds up what depends on it
)

// Task is one checklist item, nested ones included: Tasks is the outline in the
// order of the file, a parent before its children.
type Task struct {
	Index  int    `json:"index"` // 1-based position in Tasks
	ID     string `json:"id"`    // n<index>-<slug>, the id of its node
	Line   int    `json:"line"`
	Column int    `json:"column"` // of the bullet, 1-based, in bytes
	// BoxLine and BoxColumn are where the box begins, like Line and Column; 0 = none.
	BoxLine   int      `json:"box_line,omitempty"`
	BoxColumn int      `json:"box_column,omitempty"`
	Title     string   `json:"title"`             // without dependency clauses
	Text      string   `json:"text"`              // the line after the box as written
	Label     string   `json:"label,omitempty"`   // the author's own id at the start: T001, 1.2, WP03
	Aliases   []string `json:"aliases,omitempty"` // other ids the author gave it
	State     State    `json:"state"`
	Optional  bool     `json:"optional,omitempty"`
	// Command is the script of the fenced blocks under the task, Shell what it is
	// written for ("sh" or "bash"), CommandLine the line of the first block.
	Command     string `json:"command,omitempty"`
	Shell       string `json:"shell,omitempty"`
	CommandLine int    `json:"command_line,omitempty"`
	// Notes is the text below the box, without nested tasks, commands and
	// dependency lines.
	Notes    string `json:"notes,omitempty"`
	Section  string `json:"section,omitempty"`  // the heading it stands under
	Parent   int    `json:"parent,omitempty"`   // index of the task it is nested in; 0 = none
	Children []int  `json:"children,omitempty"` // indices of the tasks nested directly in it
	// DependsOn holds the declared dependencies, resolved; those of its parents
	// are added by Build.
	DependsOn []Ref `json:"depends_on,omitempty"`
	// Parallel and Story are marks of the format: [P] or (P), and [US1].
	Parallel bool   `json:"parallel,omitempty"`
	Story    string `json:"story,omitempty"`
	// Files and Tests are what the task names in a format in which that is a claim,
	// and what belongs to it in a ticket of several files.
	Files []string `json:"files,omitempty"`
	Tests []string `json:"tests,omitempty"`
	// Boxless tasks are no checklist item: the whole of a file is the step.
	Boxless bool `json:"boxless,omitempty"`
	// File is the file it stands in, if that is not the ticket's.
	File string `json:"file,omitempty"`

	hasWork bool // Notes hold more than metadata lines
	part    int  // number of headings before it
}

// Group reports whether the task is only a heading over its nested tasks: it has
// no command and no text of its own to carry out. A group is a step that does
// nothing and is met when its children are.
func (t *Task) Group() bool {
	return len(t.Children) > 0 && t.Command == "" && !t.hasWork
}

// Ref is one dependency of a task.
type Ref struct {
	Written string `json:"written"`        // as in the ticket
	Task    int    `json:"task,omitempty"` // index of the task it means; 0 = an external id
	Line    int    `json:"line"`
	Column  int    `json:"column"`
}
