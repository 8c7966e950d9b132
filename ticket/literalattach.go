package ticket

import (
	"fmt"
	"index/suffixarray"
	"slices"
	"sort"
	"strings"
)

// maxNamings is how often titles may name paths. One character may be a path that
// stands a hundred times in every title; without a limit a small file could ask
// for a trillion.
const maxNamings = 1_000_000

// attachLiteral gives a path to every task whose title contains it, in any case,
// and what no title contains to the last one. The titles are indexed once, so
// that the cost is that of what is found and not of titles times paths.
func (b *builder) attachLiteral() {
	tasks := b.nodes[b.first:]
	if len(b.t.Tasks) == 0 || len(b.t.Files)+len(b.t.Tests) == 0 {
		return
	}
	x := newTitleIndex(tasks)
	for _, p := range b.t.Files {
		for _, i := range x.naming(p) {
			tasks[i].Files = append(tasks[i].Files, p)
		}
	}
	for _, p := range b.t.Tests {
		for _, i := range x.naming(p) {
			tasks[i].Tests = append(tasks[i].Tests, p)
		}
	}
	if x.left < 0 {
		b.rep.limit(0, 0, finding{
			summary: fmt.Sprintf("titles name the paths of Files Created and Tests more than %d times", maxNamings),
			hint:    "list longer paths: each belongs to every task whose title contains it",
		})
	}
}

// titleIndex finds the titles that contain a path.
type titleIndex struct {
	index *suffixarray.Index
	start []int // where each title begins in the index
	known map[string][]int
	left  int // namings that may still be found; negative = too many
}

func newTitleIndex(tasks []Node) *titleIndex {
	x := &titleIndex{start: make([]int, len(tasks)), known: map[string][]int{}, left: maxNamings}
	var text []byte
	for i := range tasks {
		x.start[i] = len(text)
		text = append(text, pyLower(tasks[i].Title)...)
		text = append(text, '\n') // in no path, so none is found across two titles
	}
	x.index = suffixarray.New(text)
	return x
}

// naming returns the positions of the tasks that get a path, ascending.
func (x *titleIndex) naming(path string) []int {
	key := pyLower(path)
	in, ok := x.known[key]
	if !ok && x.left >= 0 {
		for _, offset := range x.index.Lookup([]byte(key), x.left+1) {
			in = append(in, sort.SearchInts(x.start, offset+1)-1)
			x.left--
		}
		slices.Sort(in)
		in = slices.Compact(in)
		if len(in) == 0 {
			in = []int{len(x.start) - 1}
		}
		x.known[strings.Clone(key)] = in
	}
	if x.left -= len(in); x.left < 0 {
		return nil
	}
	return in
}
