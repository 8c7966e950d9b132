package ticket

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{"byte order mark, CR LF", []Box{{1, "one"}}, map[string]string{"- [ ] one": "- [x] one"}, 0},
		{"blanks at the end stay", []Box{{2, "two"}}, map[string]string{"[/] two  \r": "[x] two  \r"}, 0},
		{"number, nested, optional", []Box{{3, "1.1 three"}}, map[string]string{"[ ]* 1.1": "[x]* 1.1"}, 0},
		{"quoted", []Box{{4, "quoted"}}, map[string]string{"> - [ ] quoted": "> - [x] quoted"}, 0},
		{"deferred and done all the same", []Box{{5, "later"}}, map[string]string{"[~] later": "[x] later"}, 0},
		{"done and cancelled stay", []Box{{6, "done"}, {7, "never"}}, nil, 0},
		{"one of two that are the same", []Box{{9, "same"}}, map[string]string{"- [ ] same\n- [ ] glued": ""}, 0},
		{"glued", []Box{{10, "glued"}}, map[string]string{"[ ]glued": "[x]glued"}, 0},
		{"no line end", []Box{{12, "last"}}, map[string]string{"+ [ ] last": "+ [x] last"}, 0},
		{"moved", []Box{{11, "last"}, {500, "two"}}, map[string]string{"+ [ ] last": "+ [x] last", "[/] two": "[x] two"}, 0},
		{"gone, or not to be told apart", []Box{{1, "other"}, {1, "same"}, {0, ""}}, nil, 3},
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
		if b, ok := d.Nodes[i].Box(); ok {
			boxes = append(boxes, b)
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
	a, b := bytes.Split(src, []byte("\n")), bytes.Split(out, []byte("\n"))
	for i := range a {
		if !bytes.Equal(a[i], b[i]) && (!bytes.Contains(b[i], []byte("[x]")) || boxText(a[i]) != boxText(b[i])) {
			t.Errorf("%s: line %d: %q became %q", name, i+1, a[i], b[i])
		}
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
