package ticket

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// attach gives files and tests to the nodes whose titles name them, whole and in
// any case; what no title names goes to the last task of the list. Titles are cut
// into words once and the words looked up, so that the cost is linear; a path
// with a blank in it is found in backticks.
func (b *builder) attach() {
	tasks := b.nodes[b.first:][:len(b.t.Tasks)]
	if len(b.t.Tasks) == 0 || len(b.t.Files)+len(b.t.Tests) == 0 {
		return
	}
	files, tests := newPathIndex(b.t.Files), newPathIndex(b.t.Tests)
	gotFile, gotTest := make([]bool, len(b.t.Files)), make([]bool, len(b.t.Tests))
	var known [256]bool // lengths of paths
	for _, index := range []pathIndex{files, tests} {
		for p := range index {
			if len(p) < len(known) {
				known[len(p)] = true
			}
		}
	}
	for i := range tasks {
		var f, t []int
		eachPathWord(tasks[i].Title, func(w string) {
			if len(w) < len(known) && !known[len(w)] {
				return // most words are no path: do not fold them
			}
			w = fold(w)
			f = append(f, files[w]...)
			t = append(t, tests[w]...)
		})
		tasks[i].Files = append(tasks[i].Files, take(b.t.Files, f, gotFile)...)
		tasks[i].Tests = append(tasks[i].Tests, take(b.t.Tests, t, gotTest)...)
	}
	last := &tasks[len(tasks)-1]
	for i, p := range b.t.Files {
		if !gotFile[i] {
			last.Files = append(last.Files, p)
		}
	}
	for i, p := range b.t.Tests {
		if !gotTest[i] {
			last.Tests = append(last.Tests, p)
		}
	}
}

// pathIndex finds paths by their comparable form.
type pathIndex map[string][]int

func newPathIndex(paths []string) pathIndex {
	index := make(pathIndex, len(paths))
	for i, p := range paths {
		key := fold(barePath(p))
		index[key] = append(index[key], i)
	}
	return index
}

// barePath returns a path as it is compared, but for case.
func barePath(p string) string { return strings.TrimPrefix(strings.TrimSpace(p), "./") }

// take returns the paths at the given places in the order of the list, each once.
func take(paths []string, at []int, got []bool) []string {
	if len(at) == 0 {
		return nil
	}
	slices.Sort(at)
	var out []string
	for _, i := range slices.Compact(at) {
		out = append(out, paths[i])
		got[i] = true
	}
	return out
}

// eachPathWord calls f with everything in a title that may be a path: what stands in backticks, and words without the punctuation
// around them.
func eachPathWord(title string, f func(string)) {
	for _, s := range codeSpans(title) {
		f(barePath(strings.Trim(title[s.start:s.end], "`")))
	}
	for i := 0; i < len(title); {
		n := breakAt(title, i)
		if n > 0 {
			i += n
			continue
		}
		from := i
		for i < len(title) && breakAt(title, i) == 0 {
			i++
		}
		key := barePath(title[from:i])
		f(key)
		if key == "" || !atEdge(key[0]) && !atEdge(key[len(key)-1]) {
			continue
		}
		f(barePath(strings.TrimFunc(key, func(r rune) bool { return r < utf8.RuneSelf && edgeMark[r] })))
	}
}

// edgeMark holds the punctuation that may stand at the ends of a path in a text.
var edgeMark = func() (t [utf8.RuneSelf]bool) {
	for _, c := range []byte("()[]{}<>'*_.:!?") {
		t[c] = true
	}
	return t
}()

func atEdge(c byte) bool { return c < utf8.RuneSelf && edgeMark[c] }

// breakAt returns the length of the character at title[i:] if it ends a word. In
// the middle of a character it returns 0.
func breakAt(title string, i int) int {
	switch c := title[i]; {
	case c == ' ' || c == '`' || c == ',' || c == ';' || c == '|' || c == '"' || c >= '\t' && c <= '\r':
		return 1
	case c < utf8.RuneSelf:
		return 0
	}
	r, n := utf8.DecodeRuneInString(title[i:])
	if unicode.IsSpace(r) || r == '“' || r == '”' {
		return n
	}
	return 0
}
