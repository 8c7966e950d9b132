package changeset

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// noNewline follows a line that ends a file without a newline.
const noNewline = `\ No newline at end of file`

// hunks writes the changed parts of one text file.
func (d *differ) hunks(groups []hunk, a, b []string) {
	head := heads{lines: a}
	for _, h := range groups {
		d.line(ansiCyan, fmt.Sprintf("@@ -%s +%s @@%s", span(h.a0, h.a1), span(h.b0, h.b1), d.headText(head.before(h.a0))))
		at := h.a0
		for _, x := range h.diffs {
			d.context(a[at:x.Start])
			for _, l := range a[x.Start:x.End] {
				d.text('-', ansiRed, l)
			}
			for _, l := range b[x.ReplStart:x.ReplEnd] {
				d.text('+', ansiGreen, l)
			}
			at = x.End
		}
		d.context(a[at:h.a1])
	}
}

func (d *differ) context(lines []string) {
	for _, l := range lines {
		d.text(' ', "", l)
	}
}

// text writes one line of a hunk.
func (d *differ) text(sign byte, color, l string) {
	body, complete := strings.CutSuffix(l, "\n")
	if d.opts.Escape {
		if sign == ' ' { // a CR matters where a line changes; elsewhere it is only noise
			body = strings.TrimSuffix(body, "\r")
		}
		body = d.shorten(body)
	}
	d.line(color, string(sign)+body)
	if !complete {
		d.line("", noNewline)
	}
}

// shorten escapes a line for a terminal and cuts it at the limit, saying so.
func (d *differ) shorten(body string) string {
	limit := d.opts.Limits.LineBytes
	if len(body) <= limit {
		return Escape(body)
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(body[cut]) {
		cut--
	}
	return Escape(body[:cut]) + fmt.Sprintf(" [... %d bytes more in this line]", len(body)-cut)
}

// span renders a half-open range of lines as git does: the count is left out
// when it is one, and an empty range names the line before it.
func span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return itoa(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

// heads finds the line that names the place of a hunk: the last one before it
// that starts with a letter, an underscore or a dollar sign, git's own default.
type heads struct {
	lines []string
	next  int
	last  string
}

// before must be asked for rising positions.
func (h *heads) before(pos int) string {
	for ; h.next < pos; h.next++ {
		if l := h.lines[h.next]; l != "" {
			if c := l[0]; c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				h.last = l
			}
		}
	}
	return h.last
}

// headBytes is how much of a heading git shows.
const headBytes = 80

func (d *differ) headText(l string) string {
	l = strings.TrimRight(l[:min(len(l), headBytes)], " \t\r\n\v\f")
	for l != "" && !utf8.ValidString(l) { // a cut, or bytes that are no UTF-8: only for orientation
		l = l[:len(l)-1]
	}
	if l == "" {
		return ""
	}
	return " " + Escape(l)
}
