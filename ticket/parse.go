package ticket

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/ambit-run/ambit/fault"
)

// Parse reads one ticket. name is the file's name, used in diagnostics and, where
// the ticket gives no id, for its id; "-" means standard input. src is not
// changed and not kept.
//
// It always returns a ticket and never panics. Diagnostics are in the order of
// the file. If one of them is an error (fault.HasErrors) the ticket must not be
// planned: it holds what could be understood, for display only. The file is never
// rewritten.
func Parse(name string, src []byte, opts Options) (t *Ticket, found []fault.Diagnostic) {
	if name == "-" {
		name = "stdin"
	}
	rep := &report{file: name}
	t = &Ticket{File: name, ID: idFromName(name)}
	// The Markdown and YAML readers are other people's code, and the input may be
	// anything. No panic of theirs is known; fuzzing fails on one.
	defer func() {
		if p := recover(); p != nil {
			rep.err(0, 0, finding{
				code: fault.Internal, summary: "the ticket cannot be read: a defect in ambit or its Markdown reader",
				detail: fmt.Sprint(p), hint: "please report it with the ticket",
			})
			found = rep.done()
		}
	}()
	t.Objective = t.ID
	g := grammarNamed(opts.Grammar)
	if g == nil {
		rep.err(0, 0, refused(opts.Grammar))
		return t, rep.done()
	}
	t.Format = g.name()
	limit := opts.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBytes
	}
	s := newSource(src, limit, rep)
	if s == nil {
		return t, rep.done()
	}
	if t.Format == GrammarLiteral && opts.Format != "" && opts.Format != FormatAuto {
		rep.limit(0, 0, finding{
			code: fault.Unsupported, summary: fmt.Sprintf("the literal grammar knows no formats, and %s was asked for", clip(opts.Format)),
			hint: "leave out one of the two",
		})
		return t, rep.done()
	}
	if t.Format == GrammarPractical {
		if opts.reads = chooseFormat(s, t, rep, opts.Format, opts.together); opts.reads == nil {
			return t, rep.done()
		}
	}
	if opts.ID != "" {
		t.ID = opts.ID
	}
	t.Objective = ""
	rep.lenient = t.Format == GrammarLiteral
	readFrontMatter(s, t, rep)
	t.Text = plain(s.text[s.body:])
	g.read(s, t, rep, &opts)
	if t.Objective == "" {
		t.Objective = opts.Objective
	}
	if t.Objective == "" {
		t.Objective = t.ID
		rep.note(0, 0, finding{
			summary: "the ticket states no objective; its id is used",
			hint:    "begin with a heading `# What is to be achieved`, or write `objective:` in front matter",
		})
	}
	return t, rep.done()
}

// maxIDBytes bounds a ticket id: it becomes part of ids, file names and screens.
const maxIDBytes = 200

// idFromName makes a ticket id of a file name.
func idFromName(name string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	if cut := strings.TrimSuffix(base, path.Ext(base)); cut != "" {
		base = cut
	}
	id := strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(base, "")))
	for len(id) > maxIDBytes {
		id = strings.ToValidUTF8(id[:maxIDBytes], "")
	}
	if id == "" || id == "." || id == "/" {
		return "ticket"
	}
	return id
}
