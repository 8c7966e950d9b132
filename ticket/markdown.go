package ticket

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxNesting is how many lists or quotes may stand inside each other. Real files
// have up to six. The tree is walked recursively and every open level costs time
// on every line, so a hostile file must not choose it.
const maxNesting = 32

// Bounds of the tree, against small files that make a large one. The Markdown
// parser keeps a record each time a line continues an open list or quote, and a
// node for each that is opened; these are 120 MB and 200 MB of them, and a
// multiple of what a ticket of MaxTasks tasks needs.
const (
	maxContinued = 5_000_000
	maxOpened    = 1_000_000
)

// region is a part of the source read as Markdown on its own.
type region struct {
	text []byte
	base int // offset of text in the source
	root ast.Node
	// Where in the source reading stopped, -1 = nowhere, and why.
	stop    int
	tooDeep bool

	continued, opened int // list and quote lines and nodes so far
}

// parseRegion reads the blocks of src.text[from:to]. Inline markup is not read:
// titles keep it as written.
func parseRegion(src *source, from, to int) *region {
	r := &region{text: src.text[from:to], base: from, stop: -1}
	limit := func(p parser.BlockParser) parser.BlockParser { return &nestingLimit{p, r} }
	p := parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(limit(parser.NewListParser()), 300),
		util.Prioritized(limit(parser.NewListItemParser()), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(limit(parser.NewBlockquoteParser()), 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	))
	r.root = p.Parse(text.NewReader(r.text))
	return r
}

// nestingLimit refuses to open a block inside too many others; its lines are then
// read as text, and the place is reported.
type nestingLimit struct {
	parser.BlockParser
	region *region
}

// Open opens the block unless it is nested too deeply.
func (n *nestingLimit) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for p := parent; p != nil; p = p.Parent() {
		depth++
	}
	tooDeep := depth > 2*maxNesting // a list counts twice: for itself and for its item
	if tooDeep || n.region.full() {
		n.region.refuse(reader, tooDeep)
		return nil, parser.NoChildren
	}
	node, state := n.BlockParser.Open(parent, reader, pc)
	if node != nil {
		n.region.opened++
	}
	return node, state
}

// Continue closes the block when the tree has grown too large.
func (n *nestingLimit) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	if n.region.continued++; n.region.full() {
		n.region.refuse(reader, false)
		return parser.Close
	}
	return n.BlockParser.Continue(node, reader, pc)
}

func (r *region) full() bool { return r.continued > maxContinued || r.opened > maxOpened }

func (r *region) refuse(reader text.Reader, tooDeep bool) {
	if r.stop < 0 {
		_, seg := reader.Position()
		r.stop, r.tooDeep = r.base+seg.Start, tooDeep
	}
}

// blockLines calls f with the offset in the source of every line that a block and
// the blocks in it have text on.
func (r *region) blockLines(n ast.Node, f func(offset int)) {
	if n.Type() != ast.TypeInline && n.Type() != ast.TypeDocument {
		lines := n.Lines()
		for i := range lines.Len() {
			f(r.base + lines.At(i).Start)
		}
		if h, ok := n.(*ast.HTMLBlock); ok && h.HasClosure() {
			f(r.base + h.ClosureLine.Start)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Type() != ast.TypeInline {
			r.blockLines(c, f)
		}
	}
}

// rawLines returns the lines of a block as written, without their ends, and
// their offsets in the source.
func (r *region) rawLines(n ast.Node) []rawLine {
	lines := n.Lines()
	out := make([]rawLine, 0, lines.Len())
	for i := range lines.Len() {
		seg := lines.At(i)
		b := seg.Value(r.text)
		for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
			b = b[:len(b)-1]
		}
		out = append(out, rawLine{string(b), r.base + seg.Start})
	}
	return out
}

// rawLine is one line of a block.
type rawLine struct {
	text   string
	offset int
}
