package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/bounded"
	"github.com/ambit-run/ambit/ticket"
)

// A plan with Options.Tick marks, after each step that ended well, the step's box
// in the sandbox's copy of the ticket. The mark is a change like any other: it is
// in the step's commit, in the review, in the apply and in its undo, and a step
// that is rolled back takes it along.

// checkTick refuses to mark boxes where there are none that an apply could carry.
func checkTick(o PlanOptions, ticketPath string, dag *ticket.Dag, rs []Resource) error {
	if !o.Tick {
		return nil
	}
	if ticketPath == "" {
		return fault.New(fault.Invalid, "stage", "--tick marks boxes in a file, and this ticket is none").
			WithHint("save it as a file in the resource, or leave out --tick")
	}
	for i := range dag.Nodes { // of a folder: a plan keeps these names as text
		if f := dag.Nodes[i].File; !utf8.ValidString(f) {
			return fault.New(fault.Invalid, "stage", "--tick marks boxes in files whose names are UTF-8, and %q is not", f).
				WithHint("rename the file, or leave out --tick")
		}
	}
	path := realPath(ticketPath)
	for _, r := range rs {
		if within(r.Path, path) {
			return nil
		}
	}
	return fault.New(fault.Invalid, "stage", "--tick marks boxes as part of the change, and %s lies in none of the plan's resources", ticketPath).
		WithHint("name it: --resource . --resource %s", filepath.Dir(ticketPath))
}

// realPath follows links as far as the path exists.
func realPath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// tick marks the box of a step that is done, and of the groups that are with it.
// A box that cannot be found or written is told, and fails nothing.
func (r *runner) tick(ctx context.Context, s *Step) error {
	p := r.plan
	if !p.Options.Tick || p.Ticket == nil {
		return nil
	}
	boxes := map[string][]ticket.Box{} // by file
	var files []string
	done := r.doneWith(s)
	for i := range p.Ticket.Dag.Nodes {
		n := &p.Ticket.Dag.Nodes[i]
		b, ok := p.Ticket.Dag.Box(n)
		if !ok || !done[n.ID] {
			continue
		}
		file := realPath(p.Ticket.file())
		if n.File != "" { // of a folder of tickets
			file = filepath.Join(file, filepath.Base(n.File))
		}
		if boxes[file] == nil {
			files = append(files, file)
		}
		boxes[file] = append(boxes[file], b)
	}
	for _, file := range files {
		reason, err := r.tickFile(ctx, file, boxes[file])
		if err != nil {
			return err
		}
		if reason != "" {
			r.eng.notice(r.req.Observe, p, "the box of %s is not marked in %s: %s", s.ID, file, reason)
		}
	}
	return nil
}

// doneWith returns s and the groups that nothing but s still held up.
func (r *runner) doneWith(s *Step) map[string]bool {
	done := map[string]bool{s.ID: true}
	for again := true; again; {
		again = false
		for i := range r.plan.Steps {
			g := &r.plan.Steps[i]
			if !g.Group || done[g.ID] || g.Status != StepPending {
				continue
			}
			met := true
			for _, d := range g.DependsOn {
				st := r.readiness(d)
				met = met && (done[d] || st == ticket.StatusMet)
			}
			if met {
				done[g.ID], again = true, true
			}
		}
	}
	return done
}

// Scripts that read and write the ticket inside. It was the step's to change: it
// may be a link or a pipe by now, which in there harms nobody. Its path comes as
// escapes, because what a sandbox is told has to be UTF-8 and a path need not be.
const (
	tickPath = `set -- "$(printf '%b.' "$1")" && set -- "${1%.}" && `
	tickRead = tickPath + `test -f "$1" && exec cat -- "$1"`
	// Written beside it and renamed, so that a disk that is full leaves it whole.
	tickWrite = tickPath + `f=$(readlink -f -- "$1") && t=$f.ambit-$$ && cp -p -- "$f" "$t" && cat >"$t" && mv -f -- "$t" "$f" && exit 0
rm -f -- "$t"
exit 1`
)

// escapedPath writes a path so that printf %b gives it back.
func escapedPath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			fmt.Fprintf(&b, `\0%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// tickFile marks boxes in one file, and says why it could not.
func (r *runner) tickFile(ctx context.Context, file string, boxes []ticket.Box) (reason string, err error) {
	for i, rec := range r.plan.Sandboxes {
		if !within(rec.Resource.Path, file) {
			continue
		}
		at := escapedPath(r.cell.inside(file))
		out := &bounded.Buffer{Max: ticket.DefaultMaxBytes}
		exit, stderr, err := r.cell.gitInside(ctx, i, nil, nil, out, "/bin/sh", "-c", tickRead, "sh", at)
		switch {
		case err != nil:
			return "", err
		case exit.Code != 0:
			return "it is no file in the sandbox " + stderr, nil
		case out.Over():
			return "it is too large", nil
		}
		text, missing := ticket.Tick(out.Bytes(), boxes)
		if !bytes.Equal(text, out.Bytes()) {
			exit, stderr, err := r.cell.gitInside(ctx, i, text, nil, io.Discard, "/bin/sh", "-c", tickWrite, "sh", at)
			if err != nil {
				return "", err
			}
			if exit.Code != 0 {
				return "it cannot be written: " + stderr, nil
			}
		}
		if len(missing) > 0 {
			return "no line has its words any more, or several have", nil
		}
		return "", nil
	}
	return "it lies in none of the plan's resources", nil
}
