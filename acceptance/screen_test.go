//go:build linux

package acceptance

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

// screenCommand plays the last stdout on a small terminal and makes what a
// person would then see, scrolled-off lines included, the new stdout.
//
//	screen 80x24
func screenCommand(ts *testscript.TestScript, neg bool, args []string) {
	var s screen
	if neg || len(args) != 1 {
		ts.Fatalf("usage: screen 80x24")
	}
	if _, err := fmt.Sscanf(args[0], "%dx%d", &s.cols, &s.rows); err != nil {
		ts.Fatalf("size %q: %v", args[0], err)
	}
	s.play(ts.ReadFile("stdout"))
	_, _ = ts.Stdout().Write([]byte(s.String()))
}

// screen is a terminal as far as ambit uses one: text, carriage return, newline,
// cursor up, erase below, wrapping and scrolling. Wide characters are not needed.
type screen struct {
	cols, rows int
	lines      [][]rune
	row, col   int
	top        int // first line on the screen; those before have scrolled off
	unknown    []string
}

func (s *screen) play(text string) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case strings.HasPrefix(text[i:], "\x1b["):
			end := i + 2
			for end < len(text) && (text[end] < 0x40 || text[end] > 0x7e) {
				end++
			}
			s.control(text[i+2:end], text[end])
			n = end + 1 - i
		case r == '\r':
			s.col = 0
		case r == '\n':
			s.down()
		case r >= 0x20:
			s.put(r)
		default:
			s.unknown = append(s.unknown, fmt.Sprintf("%q", r))
		}
		i += n
	}
}

func (s *screen) control(args string, final byte) {
	switch {
	case final == 'm', final == 'l' && args == "?25", final == 'h' && args == "?25":
	case final == 'A':
		n := 1
		_, _ = fmt.Sscanf(args, "%d", &n)
		s.row = max(s.top, s.row-n)
	case final == 'J' && args == "":
		s.line()
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
		s.lines = s.lines[:s.row+1]
	default:
		s.unknown = append(s.unknown, "CSI "+args+string(final))
	}
}

func (s *screen) line() {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
}

func (s *screen) down() {
	s.line()
	s.row++
	s.line()
	s.top = max(s.top, s.row-s.rows+1)
}

func (s *screen) put(r rune) {
	if s.col == s.cols {
		s.col = 0
		s.down()
	}
	s.line()
	for len(s.lines[s.row]) <= s.col {
		s.lines[s.row] = append(s.lines[s.row], ' ')
	}
	s.lines[s.row][s.col] = r
	s.col++
}

func (s *screen) String() string {
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	for _, u := range s.unknown {
		b.WriteString("unknown on the terminal: " + u + "\n")
	}
	return b.String()
}
