package ticket

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// maxFrontMatterBytes bounds the YAML part: it holds a dozen short values, and
// the YAML reader is the one part here that recurses over its input.
const maxFrontMatterBytes = 64 << 10

// frontMatterKeys are the keys that mean something, for the hint.
var frontMatterKeys = []string{
	"id", "objective", "acceptance", "scope", "depends_on", "dependencies", "project", "resources", "image", "network",
}

// readFrontMatter reads the block between two lines "---" at the start of the
// file, if there is one, and sets where the body begins.
func readFrontMatter(s *source, t *Ticket, rep *report) {
	if !isFence(s.line(1), false) {
		return
	}
	end := 0
	for n := 2; n <= len(s.lines); n++ {
		if isFence(s.line(n), true) {
			end = n
			break
		}
	}
	if end == 0 {
		rep.warn(1, 1, finding{
			summary: "front matter is opened by `---` and never closed",
			detail:  "the whole file is read as Markdown",
			hint:    "close it with a line `---`, or remove the first line",
		})
		return
	}
	text := s.text[s.lines[1]:s.lines[end-1]]
	s.body = len(s.text)
	if end < len(s.lines) {
		s.body = s.lines[end]
	}
	if len(text) > maxFrontMatterBytes {
		rep.err(1, 1, finding{summary: fmt.Sprintf("front matter is %d bytes large; the limit is %d", len(text), maxFrontMatterBytes)})
		return
	}
	f := frontMatter{t: t, rep: rep}
	f.read(text)
}

// isFence reports whether a line opens or closes front matter.
func isFence(line []byte, closing bool) bool {
	line = bytes.TrimRight(line, " \t")
	return string(line) == "---" || closing && string(line) == "..."
}

type frontMatter struct {
	t   *Ticket
	rep *report
}

// at turns a place in the YAML text into one in the file.
func (f *frontMatter) at(n *yaml.Node) (line, column int) { return n.Line + 1, n.Column }

func (f *frontMatter) read(text []byte) {
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		f.unreadable(err)
		return
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return // comments only
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		if root.ShortTag() == "!!null" {
			return
		}
		line, col := f.at(root)
		f.rep.err(line, col, finding{
			summary: "front matter is not a list of `key: value` lines",
			hint:    "if `---` was meant as a rule, put an empty line before it",
		})
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		line, col := f.at(key)
		if before, ok := seen[key.Value]; ok && slices.Contains(frontMatterKeys, key.Value) {
			f.rep.err(line, col, finding{summary: fmt.Sprintf("key %q is there twice; the first is in line %d", clip(key.Value), before)})
			continue
		}
		seen[key.Value] = line
		f.key(key, value)
	}
}

func (f *frontMatter) unreadable(err error) {
	line, col, msg := 1, 1, err.Error()
	var le *yaml.LoadError
	if errors.As(err, &le) {
		msg = le.Message
		if le.Mark.Line > 0 {
			line, col = le.Mark.Line+1, max(le.Mark.Column, 1)
		}
	}
	f.rep.err(line, col, finding{
		summary: "front matter is not YAML: " + clip(msg),
		detail:  "nothing of it was used; it may hold dependencies and limits, so the ticket cannot be planned without it",
		hint:    "put values with a colon, brackets or braces in quotes",
	})
}

// key reads one known key, or reports it. Null counts as not there.
func (f *frontMatter) key(key, value *yaml.Node) {
	t := f.t
	switch key.Value {
	case "id":
		t.idLine, _ = f.at(key)
		if id := f.word(key, value); id != "" {
			if len(id) > maxIDBytes {
				f.wrong(key, value, fmt.Sprintf("at most %d bytes", maxIDBytes))
				return
			}
			t.ID = id
		}
	case "objective":
		if v := f.text(key, value); v != "" {
			t.Objective = v
		}
	case "acceptance":
		t.Acceptance = append(t.Acceptance, f.texts(key, value)...)
	case "scope":
		t.Scope = appendNew(t.Scope, f.words(key, value)...)
	case "depends_on", "dependencies":
		t.dependsLine, _ = f.at(key)
		t.DependsOn = appendNew(t.DependsOn, f.words(key, value)...)
	case "project":
		t.Project = f.word(key, value)
	case "resources":
		t.Resources = appendNew(t.Resources, f.words(key, value)...)
	case "image":
		t.Image = f.word(key, value)
	case "network":
		t.Network = f.word(key, value)
	case "execution_authorized", "authorized":
		line, col := f.at(key)
		f.rep.warn(line, col, finding{
			summary: fmt.Sprintf("key %q has no effect", key.Value),
			detail:  "a ticket cannot authorize anything; only the person who runs it can",
		})
	default:
		if t.Format == FormatBacklog && f.backlogKey(key, value) {
			return
		}
		line, col := f.at(key)
		f.rep.warn(line, col, finding{
			summary: fmt.Sprintf("key %q is not known and not used", clip(key.Value)),
			hint:    "known are " + strings.Join(frontMatterKeys, ", "),
		})
	}
}

// backlogKey reads a key of Backlog.md.
func (f *frontMatter) backlogKey(key, value *yaml.Node) bool {
	switch key.Value {
	case "title":
		f.t.titleLine, _ = f.at(key)
		f.t.Objective = f.text(key, value)
	case "status":
		f.t.status = f.text(key, value)
	case "parent_task_id":
		f.t.parent = f.word(key, value)
	}
	return slices.Contains(backlogKeys, key.Value)
}

// text returns a scalar, "" for null.
func (f *frontMatter) text(key, value *yaml.Node) string {
	if value.Kind != yaml.ScalarNode {
		f.wrong(key, value, "one value")
		return ""
	}
	if value.ShortTag() == "!!null" {
		return ""
	}
	return strings.TrimSpace(value.Value)
}

// word returns a scalar of one printable line, "" for null.
func (f *frontMatter) word(key, value *yaml.Node) string {
	v := f.text(key, value)
	if strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }) {
		f.wrong(key, value, "one line without control characters")
		return ""
	}
	return v
}

// texts returns a scalar or a list of scalars.
func (f *frontMatter) texts(key, value *yaml.Node) []string {
	list := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		list = value.Content
	}
	var out []string
	for _, n := range list {
		if v := f.text(key, n); v != "" {
			out = append(out, v)
		}
	}
	return out
}

// words returns a list of one-line scalars; a single scalar is split at commas.
func (f *frontMatter) words(key, value *yaml.Node) []string {
	if value.Kind == yaml.SequenceNode {
		var out []string
		for _, n := range value.Content {
			if v := f.word(key, n); v != "" {
				out = append(out, v)
			}
		}
		return out
	}
	var out []string
	for v := range strings.SplitSeq(f.word(key, value), ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

func (f *frontMatter) wrong(key, value *yaml.Node, want string) {
	line, col := f.at(value)
	got := "a mapping"
	switch value.Kind {
	case yaml.SequenceNode:
		got = "a list"
	case yaml.AliasNode:
		got = "an alias, which is not read here"
	case yaml.ScalarNode:
		got = fmt.Sprintf("%q", clip(value.Value))
	default:
	}
	f.rep.err(line, col, finding{
		summary: fmt.Sprintf("%s: %s", key.Value, got),
		detail:  "expected " + want,
	})
}

// appendNew appends the values that list does not hold yet.
func appendNew(list []string, values ...string) []string {
	have := make(map[string]bool, len(list)+len(values))
	for _, v := range list {
		have[v] = true
	}
	for _, v := range values {
		if !have[v] {
			have[v] = true
			list = append(list, v)
		}
	}
	return list
}
