package ticket

import (
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// paths reads the bullets of a section of files or tests.
func (r *reader) paths(reg *region, n ast.Node, into *[]string, tests bool) {
	switch n.Kind() {
	case ast.KindList:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			r.paths(reg, c, into, tests)
		}
	case ast.KindListItem:
		first := n.FirstChild()
		if first != nil && isText(first) && first.Lines().Len() > 0 {
			seg := first.Lines().At(0)
			r.pathBullet(strings.TrimSpace(plain(seg.Value(reg.text))), reg.base+seg.Start, into, tests)
		}
		for c := first; c != nil; c = c.NextSibling() {
			if c.Kind() == ast.KindList {
				r.paths(reg, c, into, tests)
			}
		}
	}
}

func (r *reader) pathBullet(text string, offset int, into *[]string, tests bool) {
	if b, ok := readBox(text); ok {
		text = strings.TrimSpace(text[b.text:])
	}
	if text == "" {
		return
	}
	line, column := r.src.at(offset)
	if tests {
		if cmd, ok := testCommand(text); ok {
			r.t.TestCommands = append(r.t.TestCommands, cmd)
			r.rep.note(line, column, finding{summary: "read as a test command, not as a path: " + clip(cmd)})
			return
		}
	}
	p, ok := bulletPath(text)
	if !ok {
		r.rep.note(line, column, finding{
			summary: "not read as a path: " + clip(text),
			hint:    "put the path in backticks",
		})
		return
	}
	*into = append(*into, p)
}

// bulletPath reads the path at the start of a bullet. In backticks it is all up to
// the closing one. Without, it ends at a dash with white space before it or a
// colon with white space behind it, and what has white space in it is a path only
// if it ends like a file.
func bulletPath(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "`"); ok {
		p, _, ok := strings.Cut(rest, "`")
		p = strings.TrimSpace(p)
		return p, ok && p != ""
	}
	end := len(s)
	for i, c := range s {
		if i == 0 {
			continue
		}
		rest := s[i:]
		if unicode.IsSpace(c) {
			t := strings.TrimLeftFunc(rest, unicode.IsSpace)
			if dashSeparator(t) || strings.HasPrefix(t, ":") || strings.HasPrefix(t, "(") {
				end = i
				break
			}
		}
		if c == ':' && (len(rest) == 1 || rest[1] == ' ' || rest[1] == '\t') {
			end = i
			break
		}
	}
	p := strings.TrimSpace(s[:end])
	if p == "" || strings.ContainsAny(p, "*<>\"|") && !strings.Contains(p, "/") || strings.Trim(p, "-_=.") == "" {
		return "", false
	}
	if strings.ContainsFunc(p, unicode.IsSpace) {
		ext := path.Ext(p)
		if len(ext) < 2 || strings.ContainsFunc(ext, unicode.IsSpace) {
			return "", false
		}
	}
	return p, true
}

func dashSeparator(s string) bool {
	return strings.HasPrefix(s, "-") || strings.HasPrefix(s, "–") || strings.HasPrefix(s, "—")
}

// testRunners are first words of commands, as found in sections of tests.
var testRunners = wordSet(`ant bash bazel bundle bun bunx cargo cmake composer ctest curl dart deno docker dotnet
	elixir env eslint flutter git go gradle grep helm jest just kubectl make mix mocha mvn mypy ninja node npm npx nx
	php phpunit pip playwright pnpm poetry pre-commit pytest python python3 rake rspec ruby ruff sbt sh shellcheck swift
	task terraform tox tsc turbo uv uvx vitest xcodebuild yarn zig`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// testCommand reads a bullet of the section Tests that is a command line: it
// starts with a known runner, a script of the project with arguments, or `$ `.
func testCommand(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "`"); ok {
		cmd, _, ok := strings.Cut(rest, "`")
		if !ok {
			return "", false
		}
		s = strings.TrimSpace(cmd)
	} else {
		for _, sep := range []string{" - ", " – ", " — "} {
			s, _, _ = strings.Cut(s, sep)
		}
	}
	if cmd, ok := strings.CutPrefix(s, "$ "); ok {
		return strings.TrimSpace(cmd), true
	}
	first, rest, more := strings.Cut(s, " ")
	if testRunners[first] && (more || !strings.Contains(first, ".")) {
		return s, true
	}
	if more && strings.TrimSpace(rest) != "" && (strings.HasPrefix(first, "./") || isAssignment(first)) {
		return s, true
	}
	return "", false
}

// isAssignment reports whether a word is NAME=value.
func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// testsFromFiles takes the created files that are tests where the section Tests
// names none.
func (r *reader) testsFromFiles() {
	if len(r.t.Tests) > 0 || len(r.t.TestCommands) > 0 {
		return
	}
	for _, f := range r.t.Files {
		if strings.Contains(strings.ToLower(f), "test") {
			r.t.Tests = append(r.t.Tests, f)
		}
	}
}
