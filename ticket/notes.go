package ticket

import (
	"fmt"
	"strings"
)

// notes sets the notes of the i-th task and returns the dependencies stated in
// lines below its box.
func (l *linker) notes(i int) (deps []written) {
	t, raw := &l.t.Tasks[i], &l.raws[i]
	if len(raw.notes) == 0 {
		return nil
	}
	var b strings.Builder
	opened := raw.opened // the last line was "Depends on:" and a list may follow
	wraps := false       // the last line stated dependencies, and this one may go on with them
	for _, n := range raw.notes {
		if !n.code {
			found, stated, opens := l.dependencyLine(n, n.listed && opened)
			if !stated && wraps && !n.bullet {
				found = l.wrapped(n)
				stated = len(found) > 0
			}
			if stated {
				line, _ := l.src.at(n.offset)
				l.marks.use(line)
				deps = append(deps, found...)
				opened = opens || n.listed && opened
				wraps = len(found) > 0
				continue
			}
		}
		wraps = false
		if !n.listed {
			opened = false
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat("  ", n.depth))
		if n.bullet {
			b.WriteString("- ")
		}
		b.WriteString(n.text)
		t.hasWork = t.hasWork || !isMetadata(n.text)
	}
	t.Notes = b.String()
	return deps
}

// dependencyLine reads a line that only states dependencies: "Depends on: T001",
// "_Depends: 1.2_", "Blocked by T3", or an id in a list below such a line.
func (l *linker) dependencyLine(n noteLine, listed bool) (deps []written, stated, opens bool) {
	s := n.text
	start := 0
	for start < len(s) && strings.IndexByte("*_- ", s[start]) >= 0 {
		start++
	}
	line, column := l.src.at(n.offset)
	ids := start
	k, ok := keywordAt(s, start)
	switch {
	case ok && k.word != wordBlocks && (k.colon || k.word == wordDepends || k.word == wordBlockedBy):
		ids = k.end
	case listed:
		k.colon = true
	default:
		return nil, false, false
	}
	rest := strings.Trim(s[ids:], "*_ \t.")
	if rest == "" {
		return nil, true, true
	}
	if saysNone(rest) {
		return nil, true, false
	}
	refs, _ := idList(s, ids, l.accept(s, k.colon))
	if len(refs) == 0 {
		if !k.colon {
			return nil, false, false // prose: "Depends on the weather"
		}
		l.rep.warn(line, column, finding{
			summary: fmt.Sprintf("%q names no task", clip(s)),
			hint:    "name tasks by label, id or number, separated by commas: `Depends on: T001, T002`",
		})
		return nil, false, false
	}
	for _, ref := range refs {
		deps = append(deps, written{ref, line, column + ref.start, true})
	}
	left := strings.Trim(s[throughDoneWords(s, refs[len(refs)-1].end):], "*_ \t.,;()")
	for _, ref := range refs {
		l.passedOver(s, ref, line, column)
	}
	if left != "" && l.namesTask(left) {
		l.rep.warn(line, column+refs[len(refs)-1].end, finding{
			summary: fmt.Sprintf("%q behind the ids names a task and is not read", clip(left)),
			hint:    "separate ids by commas: `Depends on: T001, T002`",
		})
	} else if left != "" {
		l.rep.note(line, column+refs[len(refs)-1].end, finding{
			summary: fmt.Sprintf("%q behind the ids is not read", clip(left)),
		})
	}
	return deps, true, false
}

// opensDependencyList reports whether a line says "Depends on:" and no more, so
// that the entries of a list below it are ids.
func opensDependencyList(s string) bool {
	s = strings.TrimSpace(s)
	start := 0
	for start < len(s) && strings.IndexByte("*_", s[start]) >= 0 {
		start++
	}
	k, ok := keywordAt(s, start)
	return ok && k.colon && k.word != wordBlocks && strings.Trim(s[k.end:], "*_ ") == ""
}

func saysNone(s string) bool {
	switch strings.ToLower(s) {
	case "none", "nothing", "n/a", "na", "no", "nil", "-", "–", "—", "no dependencies":
		return true
	}
	return false
}

// isMetadata reports whether a line below a box says something about the task and
// nothing to do: a whole line in emphasis with a colon, as "_Requirements: 1.2_".
func isMetadata(s string) bool {
	return len(s) > 2 && (s[0] == '_' || s[0] == '*') && s[len(s)-1] == s[0] && s[1] != s[0] && strings.Contains(s, ":")
}
