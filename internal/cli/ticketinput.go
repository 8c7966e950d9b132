package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// Bounds of a folder of tickets: a thousand files are more than anybody plans at
// once, and 64 MiB eight times what one ticket may have.
const (
	maxFolderFiles = 1000
	maxFolderBytes = 8 * ticket.DefaultMaxBytes
)

// ticketInput is what a TICKET argument stands for: a file, stdin, a folder of
// files that are one plan, or an issue.
type ticketInput struct {
	name    string
	sources []ticket.Source
	folder  bool
	path    string             // absolute; "" for stdin and issues
	opts    ticket.Options     // what the input says of itself
	passed  []fault.Diagnostic // names in a folder that stand for no ticket
}

// ticketInput reads what a TICKET argument names. Nothing of it is understood yet.
func (d *deps) ticketInput(ctx context.Context, name, dir string) (*ticketInput, error) {
	if isIssue(name) {
		return d.issueInput(ctx, name)
	}
	if name != "-" {
		if info, err := os.Stat(absolute(dir, name)); err == nil && info.IsDir() {
			return folderInput(name, absolute(dir, name))
		}
	}
	src, path, err := d.read(ticketFile, name, dir)
	if err != nil {
		return nil, err
	}
	return &ticketInput{name: name, path: path, sources: []ticket.Source{{Name: name, Data: src}}}, nil
}

// parse reads the input. options are those of the flags; where they leave the
// format open, the input may settle it.
func (in *ticketInput) parse(o ticket.Options) (*ticket.Ticket, []fault.Diagnostic) {
	o.Format = cmp.Or(o.Format, in.opts.Format, ticket.FormatAuto)
	o.ID, o.Objective = in.opts.ID, in.opts.Objective
	if in.folder {
		t, found := ticket.ParseAll(in.name, in.sources, o)
		return t, append(found, in.passed...)
	}
	return ticket.Parse(in.sources[0].Name, in.sources[0].Data, o)
}

// texts are the files that diagnostics may point into.
func (in *ticketInput) texts() map[string][]byte {
	m := map[string][]byte{}
	for _, s := range in.sources {
		m[s.Name] = s.Data
		if s.Name == "-" {
			m["stdin"] = s.Data
		}
	}
	return m
}

// src is the whole input as one text, which the plan is bound to.
func (in *ticketInput) src() []byte {
	if !in.folder {
		return in.sources[0].Data
	}
	var b bytes.Buffer
	for _, s := range in.sources {
		fmt.Fprintf(&b, "%s\x00%d\x00", filepath.Base(s.Name), len(s.Data))
		b.Write(s.Data)
	}
	return b.Bytes()
}

// folderInput reads the Markdown files that lie in a folder itself, hidden ones
// left out, in the order of their names with numbers as numbers. Folders, pipes and
// links out of the folder are passed over with a note.
func folderInput(name, path string) (*ticketInput, error) {
	f, err := openTicketFolder(name, path)
	if err != nil {
		return nil, err
	}
	defer f.close()
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	in := &ticketInput{name: name, path: path, folder: true, opts: ticket.Options{ID: filepath.Base(path)}}
	if len(names) == 0 {
		return nil, noTickets(name, path)
	}
	if len(names) > maxFolderFiles {
		return nil, fault.New(fault.Invalid, "read tickets", "%s holds %d Markdown files; at most %d are one plan", name, len(names), maxFolderFiles).
			WithHint("name one of them, or a folder with fewer")
	}
	slices.SortFunc(names, natural)
	total := 0
	for _, n := range names {
		shown := filepath.Join(name, n)
		data, skip, err := f.read(n)
		if err != nil {
			return nil, err
		}
		if skip != "" {
			in.passed = append(in.passed, f.passedOver(n, skip))
			continue
		}
		if total += len(data); total > maxFolderBytes {
			return nil, fault.New(fault.Invalid, "read tickets", "the tickets in %s are larger than %d MiB together", name, maxFolderBytes>>20).
				WithHint("name one of them, or a folder with fewer")
		}
		in.sources = append(in.sources, ticket.Source{Name: shown, Data: data})
	}
	if len(in.sources) == 0 {
		e := fault.New(fault.NotFound, "read tickets", "the folder %s holds no ticket that can be read", name).WithHint("name a ticket, or a folder of tickets")
		e.Diagnostics = in.passed
		return nil, e
	}
	return in, nil
}

// noTickets is the error of a folder without Markdown files. Backlog.md keeps its
// tasks one level further down.
func noTickets(name, path string) error {
	e := fault.New(fault.NotFound, "read tickets", "the folder %s holds no Markdown file", name).WithHint("name a ticket, or a folder of tickets")
	for _, sub := range []string{"tasks", "backlog/tasks"} {
		f, err := openTicketFolder(sub, filepath.Join(path, sub))
		if err != nil {
			continue
		}
		names, err := f.names()
		f.close()
		if err == nil && len(names) > 0 {
			return e.WithHint("there are tickets in %s", filepath.Join(name, sub))
		}
	}
	return e
}

// natural compares names with their numbers as numbers: task-2 before task-10.
func natural(a, b string) int {
	x, y := strings.ToLower(a), strings.ToLower(b)
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits returns how many digits a text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// readRegular reads a regular file, up to the limit of its kind. Nothing else is
// opened in a way that could wait.
func readRegular(k readable, name, path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileFault(k.op, name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileFault(k.op, name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Invalid, k.op, "%s is not a regular file", name).WithHint("%s", k.hint)
	}
	data, err := io.ReadAll(io.LimitReader(f, k.limit))
	if err != nil {
		return nil, fileFault(k.op, name, err)
	}
	return data, nil
}
