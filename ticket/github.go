package ticket

import (
	"fmt"
	"strings"
)

// gitHub reads the text of an issue. Boxes are steps without an order of their
// own; #12 is an issue, and the box that begins with it stands for it. "Depends on
// #12" outside of a box is what the issue as a whole waits for.
type gitHub struct{ ambit }

func (gitHub) name() string { return FormatGitHub }

func (gitHub) recognize(s *signs) (int, string) {
	switch {
	case s.tasklist:
		return 80, "it has a [tasklist] fence"
	case s.issues >= 2 && s.most(s.issues):
		return 75, fmt.Sprintf("%s of %d are references to issues", count(s.issues, "box"), s.boxes)
	}
	return 0, ""
}

func (gitHub) prepare(r *reader) { r.vary.issueNumbers = true }

func (gitHub) arrange(l *linker) {
	var lines []int // that say what the issue waits for
	var ids []string
	for n := 1; n <= len(l.src.lines); n++ {
		if l.src.lines[n-1] < l.src.body || l.marks.marks[n] != 0 {
			continue
		}
		line := l.src.line(n)
		if boxLike(line) || !statesDependency(line) {
			continue
		}
		refs := issueDependencies(string(line))
		if len(refs) == 0 {
			continue
		}
		l.marks.use(n)
		before := len(ids)
		for _, id := range refs {
			task, _ := l.x.find(id)
			if task == 0 {
				ids = append(ids, id)
				continue
			}
			l.rep.note(n, 0, finding{
				summary: fmt.Sprintf("%s is the box in line %d, a step of this issue: the issue does not wait for it", id, l.t.Tasks[task-1].Line),
				hint:    "to order steps, write it in the box that waits: `- [ ] … depends on " + id + "`",
			})
		}
		if len(ids) > before {
			lines = append(lines, n)
		}
	}
	if len(lines) == 0 {
		return
	}
	l.t.DependsOn = appendNew(l.t.DependsOn, ids...)
	l.rep.note(lines[0], 0, finding{
		summary: "the issue as a whole waits for " + strings.Join(ids, ", "),
		detail:  lineList(lines), hint: "say --assume ID for each that is done",
	})
}

// issueDependencies returns the issues a line outside of a box says it waits for.
func issueDependencies(s string) (ids []string) {
	s = strings.TrimLeft(s, " \t-*+_>")
	k, ok := keywordAt(s, 0)
	if !ok {
		return nil
	}
	refs, _ := idList(s, k.end, func(r idRef) bool { return strings.Contains(r.text, "#") })
	for _, r := range refs {
		ids = append(ids, r.text)
	}
	return ids
}

// issueAtStart returns the issue a task begins with: #12, owner/repo#12, or the
// number of a link to one; "" if it begins with none.
func issueAtStart(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word = strings.TrimRight(word, ":,.")
	if rest, ok := strings.CutPrefix(word, "https://github.com/"); ok {
		parts := strings.Split(rest, "/")
		if len(parts) >= 4 && (parts[2] == "issues" || parts[2] == "pull") && allDigits(parts[3]) {
			return "#" + parts[3]
		}
		return ""
	}
	repo, number, ok := strings.Cut(word, "#")
	if !ok || !allDigits(number) || repo != "" && strings.Count(repo, "/") != 1 {
		return ""
	}
	return word
}

// isIssueReference reports whether a task is an issue and nothing more.
func isIssueReference(text string) bool {
	text = strings.TrimSpace(text)
	return issueAtStart(text) != "" && !strings.ContainsAny(text, " \t")
}

func allDigits(s string) bool { return s != "" && len(s) < 12 && strings.Trim(s, "0123456789") == "" }
