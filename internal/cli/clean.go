package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/ambit-run/ambit/changeset"
)

// visible makes a name or title safe for a terminal, on one line.
func visible(s string) string {
	return strings.ReplaceAll(changeset.Escape(s), "\t", `\t`)
}

// cleanOutput makes one line of a program's output safe to show among our own:
// terminal sequences are dropped (a progress bar's last state is what counts),
// tabs become blanks, what is left of control characters is made visible.
func cleanOutput(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	line = dropSequences(line)
	line = strings.ReplaceAll(line, "\t", "    ")
	return visible(line)
}

// dropSequences removes ECMA-48 control sequences: CSI up to its final byte;
// OSC, DCS, SOS, PM and APC up to their terminator; two-byte escapes. An
// unfinished sequence goes up to the end of the line. Backspaces take the
// character before them.
func dropSequences(s string) string {
	if !strings.ContainsAny(s, "\x1b\b") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\b':
			_, n := utf8.DecodeLastRune(out)
			out = out[:len(out)-n]
		case 0x1b:
			i = sequenceEnd(s, i) - 1
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// sequenceEnd returns the index after the escape sequence that starts at i.
func sequenceEnd(s string, i int) int {
	if i+1 >= len(s) {
		return len(s)
	}
	switch s[i+1] {
	case '[':
		for j := i + 2; j < len(s); j++ {
			if s[j] >= 0x40 && s[j] <= 0x7e {
				return j + 1
			}
			if s[j] < 0x20 || s[j] > 0x7e { // malformed: drop only what belonged to it
				return j
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for j := i + 2; j < len(s); j++ {
			if s[j] == 0x07 {
				return j + 1
			}
			if s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\' {
				return j + 2
			}
		}
		return len(s)
	}
	j := i + 1
	for j < len(s) && s[j] >= 0x20 && s[j] <= 0x2f { // intermediate bytes: charset designations and the like
		j++
	}
	if j < len(s) && s[j] >= 0x30 && s[j] <= 0x7e {
		j++
	}
	return j
}
