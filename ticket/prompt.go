package ticket

import (
	"fmt"
	"strings"
)

// Limits of a prompt. It is read once per step by a program that has the files
// themselves at hand.
const (
	maxPromptList = 20       // entries of each list
	maxPromptText = 16 << 10 // bytes of notes, or of the ticket's text
)

// PromptInput is what a step's prompt says besides the ticket.
type PromptInput struct {
	// Before lists the steps that ended before this one, in the order they ended.
	Before []PromptStep
	// LeaveAlone lists paths, or whatever else the step must not touch.
	LeaveAlone []string
	// Remarks are sentences to add at the end, such as what a reviewer asked for.
	Remarks []string
}

// PromptStep is one step that ended before.
type PromptStep struct {
	ID      string
	Title   string
	Outcome string   // "done" if empty
	Files   []string // what it changed
}

// Prompt returns the prompt for one step of a DAG: plain text in Markdown that
// says what the whole is for, what this step is, when it is accepted, what was
// done before and what is none of its business. It is a request, not an
// authorization: the sandbox decides what the reader of it can do.
func Prompt(d *Dag, n *Node, in PromptInput) string {
	p := &prompt{}
	p.line("You carry out one step of a ticket. Do this step, and nothing of the other steps.")
	p.head("Ticket")
	p.line(d.Objective)
	p.head("This step")
	title := n.Title
	if n.Source == SourceFallback {
		title = d.Objective
	}
	p.line(fmt.Sprintf("%s (%s)", title, n.ID))
	if n.Text != "" {
		p.line("As written: " + n.Text)
	}
	parent := d.Node(n.Parent)
	for range maxNesting { // a DAG that was edited by hand may go in circles
		if parent == nil {
			break
		}
		p.line("It is part of: " + parent.Title)
		parent = d.Node(parent.Parent)
	}
	if n.Notes != "" {
		p.line("")
		p.line(shorten(n.Notes))
	}
	if n.Source == SourceFallback && strings.TrimSpace(d.Text) != "" {
		p.line("")
		p.line(shorten(strings.TrimSpace(d.Text)))
	}
	if kids := d.inside(n.ID); len(kids) > 0 {
		p.line("")
		p.line("The steps nested in it are done. Check that together they are what this step asks for, and add what is missing:")
		p.list(kids)
	}
	p.section("Files it is about", n.Files)
	p.section("Tests that belong to it", n.Tests)
	p.section("Commands that have to pass", d.TestCommands)
	p.section("The ticket is accepted when", d.Acceptance)
	p.section("Done before", before(in.Before))
	p.section("Later steps: not yours", d.later(n))
	p.section("Leave alone", in.LeaveAlone)
	for _, r := range in.Remarks {
		p.line("")
		p.line(r)
	}
	return p.b.String()
}

func before(steps []PromptStep) []string {
	var out []string
	for _, s := range steps {
		line := s.Title
		if line == "" {
			line = s.ID
		}
		if s.Outcome != "" && s.Outcome != "done" {
			line += " — " + s.Outcome
		}
		if n := len(s.Files); n > 0 {
			shown := s.Files[:min(n, maxPromptList)]
			line += " — changed " + strings.Join(shown, ", ")
			if n > len(shown) {
				line += fmt.Sprintf(" and %d more", n-len(shown))
			}
		}
		out = append(out, line)
	}
	// The last ones matter most.
	if len(out) > maxPromptList {
		over := len(out) - maxPromptList + 1
		out = append([]string{fmt.Sprintf("(%s earlier)", count(over, "step"))}, out[over:]...)
	}
	return out
}

// inside returns the titles of the steps nested directly in a step.
func (d *Dag) inside(id string) []string {
	var out []string
	for i := range d.Nodes {
		if d.Nodes[i].Parent == id {
			out = append(out, d.Nodes[i].Title)
		}
	}
	return out
}

// later returns the titles of the steps behind a step that are still to run.
func (d *Dag) later(n *Node) []string {
	var out []string
	for i := n.Order + 1; i < len(d.Nodes); i++ {
		if d.Nodes[i].Runs() {
			out = append(out, d.Nodes[i].Title)
		}
	}
	return out
}

// prompt collects lines and lists.
type prompt struct{ b strings.Builder }

func (p *prompt) line(s string) {
	p.b.WriteString(s)
	p.b.WriteByte('\n')
}

func (p *prompt) head(title string) { p.line("\n## " + title + "\n") }

func (p *prompt) section(title string, items []string) {
	if len(items) > 0 {
		p.head(title)
		p.list(items)
	}
}

func (p *prompt) list(items []string) {
	for i, s := range items {
		if i == maxPromptList {
			p.line(fmt.Sprintf("- and %d more", len(items)-i))
			return
		}
		p.line("- " + strings.ReplaceAll(s, "\n", "\n  "))
	}
}

// shorten cuts a long text and says so.
func shorten(s string) string {
	if len(s) <= maxPromptText {
		return s
	}
	return cutText(s, maxPromptText) + "\n(cut here; the rest is in the ticket)"
}
