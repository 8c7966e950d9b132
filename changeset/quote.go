package changeset

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote renders a name as git does in diffs: as it is, or in double quotes with
// C escapes and octal bytes where it holds a quote, a backslash or anything that
// could disturb a line or a terminal. Beyond git's own rule that includes bytes
// that are no UTF-8, code points that move or hide text, and spaces at the ends
// of a name; git reads them back all the same. Valid printable text of any script stays readable.
func Quote(name string) string {
	if !needsQuote(name) {
		return name
	}
	return quoted(name)
}

// quoted renders the name in quotes in any case.
func quoted(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case r == utf8.RuneError && n == 1 || disturbs(r):
			for _, c := range []byte(name[i : i+n]) {
				writeByte(&b, c)
			}
		default:
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

func writeByte(b *strings.Builder, c byte) {
	if i := strings.IndexByte("\a\b\t\n\v\f\r", c); i >= 0 {
		b.WriteByte('\\')
		b.WriteByte("abtnvfr"[i])
		return
	}
	fmt.Fprintf(b, `\%03o`, c)
}

func needsQuote(name string) bool {
	// A name that starts or ends with a space, or a folder of it that does, reads
	// like another one, and git's own parser loses it in a header.
	if strings.HasPrefix(name, " ") || strings.HasSuffix(name, " ") || strings.Contains(name, " /") || strings.Contains(name, "/ ") {
		return true
	}
	for i, r := range name {
		if r == '"' || r == '\\' || disturbs(r) {
			return true
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(name[i:]); n == 1 {
				return true
			}
		}
	}
	return false
}

// disturbs reports whether a code point can act on a terminal or mislead a
// reader: controls (C0, DEL, C1), formats (bidirectional marks, zero widths),
// line and paragraph separators, private use and unassigned points.
func disturbs(r rune) bool {
	if r < utf8.RuneSelf {
		return r < 0x20 || r == 0x7f
	}
	return !unicode.IsGraphic(r) || r == 0x2028 || r == 0x2029 || invisible(r)
}

// invisible lists graphic code points that draw nothing: fillers and variation
// selectors, which can smuggle text past a reader.
func invisible(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0e, r >= 0xe0100 && r <= 0xe01ef:
		return true
	}
	return false
}

// Escape renders text from a sandbox for a terminal: controls, separators,
// direction marks and bytes that are no UTF-8 become visible escapes (\x1b,
// \u202e), everything else stays. Tabs stay; a newline does not, so the caller
// splits lines first. Backslashes stay single: the result is for eyes, not for
// reading back.
func Escape(text string) string {
	clean := true
	for i := 0; i < len(text) && clean; {
		r, n := utf8.DecodeRuneInString(text[i:])
		clean = r == '\t' || !(disturbs(r) || r == utf8.RuneError && n == 1)
		i += n
	}
	if clean {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\t' || !disturbs(r):
			b.WriteString(text[i : i+n])
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\n':
			b.WriteString(`\n`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// size renders a number of bytes for people, in powers of 1024.
func size(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return strconv.FormatInt(n, 10) + " B"
	case n < unit*unit:
		return trimZero(float64(n)/unit) + " KiB"
	case n < unit*unit*unit:
		return trimZero(float64(n)/(unit*unit)) + " MiB"
	}
	return trimZero(float64(n)/(unit*unit*unit)) + " GiB"
}

func trimZero(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") }

func itoa(n int) string { return strconv.Itoa(n) }
