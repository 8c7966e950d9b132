package ticket

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// specKit reads the task lists of Spec Kit: `T001 [P] [US1] text in path`, in
// phases. What has no [P] runs after what stands before it; a run of [P] runs side
// by side; a heading ends a run, so that phases, and the tests before the
// implementation of a story, are barriers. Paths in a line are claims.
type specKit struct{}

func (specKit) name() string { return FormatSpecKit }

func (specKit) recognize(s *signs) (int, string) {
	if s.taskLabels < 2 || !s.most(s.taskLabels) || s.parallel+s.stories+s.phases == 0 {
		return 0, ""
	}
	return 90, fmt.Sprintf("%s of %d begin with a label such as T001", count(s.taskLabels, "box"), s.boxes) +
		prefixed(", with ", list(found(s.parallel, "box", " marked [P]"), found(s.stories, "box", " of a user story"), found(s.phases, "phase", "")))
}

// prefixed returns s behind a prefix, or nothing.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func (specKit) prepare(r *reader) { r.vary.checklists = true }

func (specKit) tags(t *Task, text string) []span {
	var cuts []span
	for _, g := range marksAtStart(text) {
		word := text[g.start+1 : g.end-1]
		switch {
		case word == "P" || word == "p":
			t.Parallel = true
		case isStory(word):
			t.Story = strings.ToUpper(word)
		default:
			continue
		}
		cuts = append(cuts, g)
	}
	t.Files = pathsIn(text)
	return cuts
}

func (specKit) arrange(l *linker) {
	l.dependencySections()
	l.inOrder(func(before, after *Task) (Reason, bool) {
		switch {
		case before.part == after.part && before.Parallel && after.Parallel:
			return Reason{}, true
		case before.part == after.part || after.part == 0:
			return Reason{Kind: ReasonList}, false
		}
		h := l.heads[after.part-1]
		return Reason{Kind: ReasonSection, Line: h.line, Text: h.title}, false
	})
}

// marksAtStart returns the marks in brackets that stand before or behind the label
// a text begins with, before any other word.
func marksAtStart(text string) (marks []span) {
	labelled := false
	for i := skipSpace(text, 0); i < len(text); i = skipSpace(text, i) {
		if text[i] == '[' {
			end := strings.IndexByte(text[i:], ']')
			if end < 2 || end > 14 { // the longest in use is [Foundation]
				return marks
			}
			end += i + 1
			if end < len(text) && strings.IndexByte("([:", text[end]) >= 0 {
				return marks // a link
			}
			if _, ok := parseLabel(text[i+1 : end-1]); ok && !labelled && !isStory(text[i+1:end-1]) {
				labelled = true
			} else {
				marks = append(marks, span{i, end})
			}
			i = end
			continue
		}
		if labelled {
			return marks
		}
		end := i
		for end < len(text) && text[end] != ' ' && text[end] != '\t' {
			end++
		}
		if _, ok := parseLabel(strings.Trim(text[i:end], "*_`.:")); !ok {
			return marks
		}
		labelled = true
		i = end
	}
	return marks
}

// labelTags reads what Spec Kit writes at the start of a task.
func labelTags(text string) (story string, side bool) {
	for _, g := range marksAtStart(text) {
		word := text[g.start+1 : g.end-1]
		side = side || word == "P" || word == "p"
		if isStory(word) {
			story = word
		}
	}
	return story, side
}

// isStory reports whether a mark is that of a user story: US1, US-2.
func isStory(s string) bool {
	l, ok := parseLabel(s)
	return ok && (l.family == "us" || l.family == "us-") && l.n == 1
}

// phaseWords begin the headings of phases, before or behind their number.
var phaseWords = []string{"phase", "フェーズ", "段階", "阶段", "階段", "단계", "페이즈"}

// isPhase reports whether a heading is that of a phase: "Phase 3: …", "フェーズ3.1",
// "阶段 2", "第2阶段", "2단계".
func isPhase(title string) bool { return phaseNumber(title) != "" }

// phaseNumber returns the number of a phase from its heading, "" if it is none.
func phaseNumber(title string) string {
	t := strings.TrimLeftFunc(strings.ToLower(title), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, w := range phaseWords {
		if rest, ok := strings.CutPrefix(t, w); ok {
			rest = strings.TrimLeft(rest, " \t-–:\u3000")
			if n := leadingNumber(rest); n != "" {
				return n
			}
			if strings.HasPrefix(rest, "n") && (len(rest) == 1 || !isLetter(rest[1])) {
				return "n" // the template's last one
			}
		}
	}
	t = strings.TrimPrefix(t, "第")
	n := leadingNumber(t)
	if n == "" {
		return ""
	}
	t = strings.TrimLeft(t[len(n):], " \t")
	for _, w := range phaseWords[1:] {
		if strings.HasPrefix(t, w) {
			return n
		}
	}
	return ""
}

// leadingNumber returns the digits and points a text begins with.
func leadingNumber(s string) string {
	i := 0
	for i < len(s) && i < 12 && (isDigit(s[i]) || s[i] == '.' && i > 0) {
		i++
	}
	return strings.TrimRight(s[:i], ".")
}

// maxClaims is how many paths one line claims: real ones name up to a dozen.
const maxClaims = 64

// pathsIn returns the paths a line names, in their order, each once: words with a
// slash whose last part has an extension or that end in the slash, and names of
// files whose extension is a known one.
func pathsIn(text string) (paths []string) {
	seen := map[string]bool{}
	eachPathWord(text, func(word string) {
		// In a language without blanks the words go on behind the path.
		for w := range strings.FieldsFuncSeq(word, func(r rune) bool { return r >= firstEastAsian }) {
			w = strings.TrimRight(w, ",;:.")
			if n := len(paths); n == maxClaims || seen[w] || n > 0 && strings.TrimLeft(paths[n-1], ".") == w || !looksLikePath(w) {
				continue
			}
			seen[w] = true
			paths = append(paths, w)
		}
	})
	return paths
}

// firstEastAsian is where the scripts of East Asia begin, with their punctuation.
const firstEastAsian = '\u2e80'

func looksLikePath(w string) bool {
	if len(w) < 3 || len(w) > 256 || !utf8.ValidString(w) || w[0] == '/' || w[0] == '@' || w[0] == '-' || w[0] == '~' ||
		strings.Contains(w, "://") || strings.Contains(w, "..") || strings.Contains(w, "//") ||
		strings.ContainsAny(w, "*?<>|\"'`{}#=,;:\\$% ") {
		return false
	}
	if strings.Count(w, "(") != strings.Count(w, ")") || strings.Count(w, "[") != strings.Count(w, "]") {
		return false
	}
	ext := strings.TrimPrefix(path.Ext(w), ".")
	stem := path.Base(strings.TrimSuffix(w, "."+ext))
	named := ext != "" && len(ext) <= 10 && stem != "" && stem != "." && strings.TrimFunc(ext, isWordRune) == "" && strings.IndexFunc(ext, unicode.IsLetter) >= 0
	slash := strings.IndexByte(w, '/')
	switch {
	case slash < 0:
		return named && fileExtensions[strings.ToLower(ext)]
	case strings.HasSuffix(w, "/"):
		return strings.IndexFunc(w, unicode.IsLetter) >= 0
	}
	return named
}

func isWordRune(r rune) bool { return r < utf8.RuneSelf && (isLetter(byte(r)) || isDigit(byte(r))) }

// fileExtensions are those by which a name without a folder is taken for a file.
var fileExtensions = wordSet(`astro bash c cc cfg clj conf cpp cs css csproj csv cts cxx dart env ex exs fs go gradle graphql groovy h hpp
	hs html ini java js json jsonc jsx kt kts less lock lua m md mdx mjs ml mm mod mts php pl plist prisma proto ps1 py pyi r rb rs
	sass scala scss sh sln sol sql sum svelte swift tex tf toml ts tsx txt vue xml yaml yml zig`)
