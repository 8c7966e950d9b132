package ticket

import (
	"slices"
	"strings"
)

// backlog reads a file of Backlog.md. The file is one task and one step: its title
// says what to do, its status whether that is done, its boxes when it is accepted.
// Dependencies are other files, so a folder of them is one plan.
type backlog struct{ ambit }

func (backlog) name() string { return FormatBacklog }

// backlogKeys are the front matter keys of Backlog.md that order nothing here.
var backlogKeys = []string{
	"title", "status", "assignee", "reporter", "created_date", "updated_date", "completed_date", "due_date", "labels", "milestone",
	"references", "documentation", "priority", "ordinal", "parent_task_id", "subtasks", "type", "onStatusChange", "modified_files",
	"implementation_notes", "final_summary",
}

func (backlog) recognize(s *signs) (int, string) {
	has := func(key string) bool { return slices.Contains(s.keys, key) }
	if !has("id") || !has("title") || !has("status") {
		return 0, ""
	}
	var other []string
	for _, k := range []string{"created_date", "assignee", "labels", "dependencies"} {
		if has(k) {
			other = append(other, k)
		}
	}
	if len(other) < 2 && !s.markers {
		return 0, ""
	}
	return 95, "its front matter has id, title, status" + prefixed(", ", strings.Join(other, ", "))
}

func (backlog) prepare(r *reader) { r.vary.whole = true }

func (backlog) arrange(l *linker) {
	t := l.t
	notes := strings.TrimSpace(withoutComments(t.Text))
	step := Task{
		Index: 1, Line: max(t.titleLine, 1), Column: 1, Title: t.Objective, Text: t.Objective, State: backlogState(t.status),
		Notes: notes, Boxless: true, hasWork: true,
	}
	if step.Title == "" {
		step.Title, step.Text = t.ID, t.ID
	}
	step.ID = nodeID(1, step.Title)
	t.Tasks = []Task{step}
}

// backlogState turns a status into the state of the step. Statuses are the
// project's own; those of the program are known, and words for done.
func backlogState(status string) State {
	switch strings.ToLower(strings.TrimSpace(strings.TrimLeft(status, "✔✓✅ "))) {
	case "done", "complete", "completed", "closed", "merged", "resolved", "shipped":
		return StateDone
	case "canceled", "cancelled", "rejected", "won't do", "wontfix", "won't fix", "obsolete", "duplicate", "archived":
		return StateCancelled
	case "in progress", "doing", "in review", "review":
		return StateDoing
	}
	return StateTodo
}

// withoutComments removes lines that hold nothing but an HTML comment, which is
// how Backlog.md marks its sections.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "<!--") && strings.HasSuffix(t, "-->") && strings.Count(t, "-->") == 1 {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
