package ticket

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTick(t *testing.T) {
	t.Parallel()
	src := "\ufeff- [ ] one\r\n* [/] two  \r\n  1. [ ]* 1.1 three\r\n> - [ ] quoted\n- [~] later\n- [x] done\n- [-] never\n- [ ] same\n- [ ] same\n- [ ]glued\ntext\n+ [ ] last"
	for _, c := range []struct {
		name    string
		boxes   []Box
		changes map[string]string // old line part → new
		missing int
	}{
		{name: "nothing"},
		{"byte order mark, CR LF", []Box{{Line: 1, Text: "one"}}, map[string]string{"- [ ] one": "- [x] one"}, 0},
		{"blanks at the end stay", []Box{{Line: 2, Text: "two"}}, map[string]string{"[/] two  \r": "[x] two  \r"}, 0},
		{"number, nested, optional", []Box{{Line: 3, Text: "1.1 three"}}, map[string]string{"[ ]* 1.1": "[x]* 1.1"}, 0},
		{"quoted", []Box{{Line: 4, Text: "quoted"}}, map[string]string{"> - [ ] quoted": "> - [x] quoted"}, 0},
		{"deferred and done all the same", []Box{{Line: 5, Text: "later"}}, map[string]string{"[~] later": "[x] later"}, 0},
		{"done and cancelled stay", []Box{{Line: 6, Text: "done"}, {Line: 7, Text: "never"}}, nil, 0},
		{"one of two that are the same", []Box{{Line: 9, Text: "same"}}, map[string]string{"- [ ] same\n- [ ] glued": ""}, 0},
		{"glued", []Box{{Line: 10, Text: "glued"}}, map[string]string{"[ ]glued": "[x]glued"}, 0},
		{"no line end", []Box{{Line: 12, Text: "last"}}, map[string]string{"+ [ ] last": "+ [x] last"}, 0},
		{"moved", []Box{{Line: 11, Text: "last"}, {Line: 500, Text: "two"}}, map[string]string{"+ [ ] last": "+ [x] last", "[/] two": "[x] two"}, 0},
		{"gone, or not to be told apart", []Box{{Line: 1, Text: "other"}, {Line: 1, Text: "same"}, {Line: 0, Text: ""}}, nil, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := src
			if strings.HasPrefix(c.name, "one of two") {
				i := strings.LastIndex(want, "- [ ] same")
				want = want[:i] + "- [x] same" + want[i+len("- [ ] same"):]
			} else {
				for old, now := range c.changes {
					want = strings.Replace(want, old, now, 1)
				}
			}
			in := []byte(src)
			got, missing := Tick(in, c.boxes)
			if string(got) != want || len(missing) != c.missing {
				t.Errorf("got %q\nwant %q; missing %v", got, want, missing)
			}
			if string(in) != src {
				t.Error("the source was changed")
			}
			again, _ := Tick(got, c.boxes)
			if !bytes.Equal(again, got) {
				t.Errorf("ticked twice: %q", again)
			}
		})
	}
}

var mark = regexp.MustCompile(`\[[^\[\]\r\n]\x{fe0f}?\]`)

// checkTick ticks every step that has a box and reads the result: all of them are
// done, nothing else is different, and only box marks changed.
func checkTick(t tester, name string, src []byte, o Options) {
	tk, _ := Parse(name, src, o)
	d, _ := Build(tk, BuildOptions{})
	if d == nil {
		return
	}
	var boxes []Box
	for i := range d.Nodes {
		if b, ok := d.Box(&d.Nodes[i]); ok {
			boxes = append(boxes, b)
		}
	}
	for i := range boxes { // one alone is the right one, whatever else has its words
		alone, _ := Tick(src, boxes[i:i+1])
		now, _ := Parse(name, alone, o)
		for k := range now.Tasks {
			was, is := &tk.Tasks[k], &now.Tasks[k]
			if mine := was.BoxLine == boxes[i].Line && was.BoxColumn == boxes[i].Column; !mine && was.State != is.State {
				t.Errorf("%s (%s): %q: the box in line %d was ticked for the one in line %d", name, tk.Format, src, was.BoxLine, boxes[i].Line)
			} else if mine && is.State != StateDone && is.State != StateCancelled {
				t.Errorf("%s (%s): %q: the box in line %d is not ticked", name, tk.Format, src, was.BoxLine)
			}
		}
		if i == 20 { // of a large file the first ones
			break
		}
	}
	out, missing := Tick(src, boxes)
	if len(missing) > 0 {
		t.Errorf("%s (%s): no box was found for %v", name, tk.Format, missing)
		return
	}
	now, _ := Parse(name, out, o)
	if len(now.Tasks) != len(tk.Tasks) {
		t.Errorf("%s (%s): %d tasks became %d", name, tk.Format, len(tk.Tasks), len(now.Tasks))
		return
	}
	for i := range now.Tasks {
		was, is := &tk.Tasks[i], &now.Tasks[i]
		if was.Boxless {
			continue
		}
		if is.ID != was.ID || is.State != StateDone && is.State != StateCancelled {
			t.Errorf("%s (%s): %s in line %d became %s, %s", name, tk.Format, was.ID, was.Line, is.ID, is.State)
		}
	}
	if mark.ReplaceAllString(string(src), "[x]") != mark.ReplaceAllString(string(out), "[x]") {
		t.Errorf("%s: more than marks changed:\n%q\n%q", name, src, out)
	}
}

func TestCorpusTick(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(corpus(t), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkTick(t, filepath.Base(file), src, Options{Format: FormatAuto})
		checkTick(t, filepath.Base(file), src, Options{Grammar: GrammarLiteral})
	}
}

// TestTickRightBox: line ends of all kinds, boxes with the same words, boxes behind
// other list marks, and words that begin on the line below.
func TestTickRightBox(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"intro\rline\n\n- [ ] Test it\n- [ ] Test it\n",
		"- [ ] a\r- [ ] a\r\n- [ ] a\n",
		"- [ ]\n  text\n- [ ]\n  text\n",
		"- - [ ] x\n  - [ ] x\n",
		"-\n  [ ] x\n1. - [ ] x\n",
		"> - [ ]\n>   x\n",
		"- [ ] a\rb\n- [ ] a\n",
	} {
		for _, o := range []Options{{}, {Format: FormatObsidian}, {Grammar: GrammarLiteral}} {
			checkTick(t, "t.md", []byte(src), o)
		}
	}
}

// TestTickFragments throws pieces together in which the same box comes again and again.
func TestTickFragments(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{
		"\n", "\n", "\n", "\r", "\r\n", " ", "  ", "\t", "- [ ] ", "- [ ] ", "- [ ]", "* [x] ", "1. [/] ", "- [ ]* ", "- ", "> ", "[ ] ", "- [~] ",
		"Test it", "Test it", "a", "b", "\n- [ ] a\n", "\n- [ ] a\r", "\n- - [ ] a\n", "\n- [ ]\n  a\n", "\ufeff", "\u00a0", "\x1c", "(c)", "* a",
		"## Tasks\n", "```\n", "---\n", "---\nid: x\n---\n", "é", "depends on n01",
	})
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(t, "pieces"), ""))
		checkTick(t, "t.md", src, Options{})
		checkTick(t, "t.md", src, Options{Format: FormatObsidian})
		checkTick(t, "t.md", src, Options{Grammar: GrammarLiteral})
	})
}
