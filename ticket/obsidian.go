package ticket

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// obsidian reads lists of the plugin Tasks for Obsidian: 🆔 names a task and ⛔ what
// it waits for, also as [id:: a] and [dependsOn:: a]; dates, priorities and the tag
// #task are no part of the title. Tasks in callouts count. Ids are those of a whole
// vault: one that is not in the file is of another note.
type obsidian struct{}

func (obsidian) name() string { return FormatObsidian }

func (obsidian) recognize(s *signs) (int, string) {
	if s.emojiIDs+s.dates == 0 && !s.most(s.taskTags) {
		return 0, ""
	}
	if s.emojiIDs == 0 && !s.most(s.dates) && !s.most(s.taskTags) {
		return 0, ""
	}
	return 65, "it has " + list(found(s.emojiIDs, "box", " with 🆔 or ⛔"), found(s.dates, "box", " with a date or priority"), found(s.taskTags, "box", " with #task"))
}

func (obsidian) prepare(r *reader) {
	r.vary.quotes, r.vary.otherMarks, r.vary.foreignIDs = true, true, true
}

func (obsidian) tags(t *Task, text string) (cuts []span) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '#' && strings.HasPrefix(text[i:], "#task") && (i == 0 || text[i-1] == ' ') && (i+5 == len(text) || text[i+5] == ' '):
			cuts = append(cuts, span{i, i + 5})
			i += 5
		case r >= utf8.RuneSelf:
			if end, ok := taskFieldAt(text, i); ok {
				cuts = append(cuts, span{i, end})
				i = end
				continue
			}
			i += n
		default:
			i += n
		}
	}
	return cuts
}

func (obsidian) arrange(l *linker) {
	if len(l.otherMarks) > 0 {
		l.rep.note(l.otherMarks[0], 0, finding{
			summary: count(len(l.otherMarks), "box") + " with a mark of their own: taken as to do",
			detail:  lineList(l.otherMarks),
			hint:    "known are [ ] to do, [/] begun, [x] done, [-] cancelled, [~] deferred",
		})
	}
}

// The plugin's marks: alone, before a date, before words.
const (
	priorityMarks = "🔺⏫🔼🔽⏬"
	dateMarks     = "📅⏳🛫➕✅❌📆🗓⌛"
	wordMarks     = "🔁🏁"
)

// taskField finds the first mark of the plugin in a text.
func taskField(text string) (at int, ok bool) {
	for i, r := range text {
		if r >= utf8.RuneSelf {
			if _, ok := taskFieldAt(text, i); ok {
				return i, true
			}
		}
	}
	return 0, false
}

// taskFieldAt reads a mark with its value at text[i:].
func taskFieldAt(text string, i int) (end int, ok bool) {
	r, n := utf8.DecodeRuneInString(text[i:])
	end = i + n
	end += len(text[end:]) - len(strings.TrimPrefix(text[end:], variationSelector))
	switch {
	case strings.ContainsRune(priorityMarks, r):
		return end, true
	case strings.ContainsRune(dateMarks, r):
		at := skipSpace(text, end)
		if date := dateAt(text[at:]); date > 0 {
			return at + date, true
		}
		return 0, false
	case strings.ContainsRune(wordMarks, r):
		at := skipSpace(text, end)
		for at < len(text) {
			c, n := utf8.DecodeRuneInString(text[at:])
			if c != ' ' && c != '!' && !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != ',' {
				break
			}
			at += n
		}
		return at, at > skipSpace(text, end)
	}
	return 0, false
}

// dateAt returns the length of a date such as 2026-04-01 at the start of s, 0 if
// there is none.
func dateAt(s string) int {
	if len(s) < 10 {
		return 0
	}
	for i := range 10 {
		if dash := i == 4 || i == 7; dash != (s[i] == '-') || !dash && !isDigit(s[i]) {
			return 0
		}
	}
	return 10
}
