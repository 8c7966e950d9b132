package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wide are the blocks whose characters take two columns: East Asian Width W and
// F of Unicode 15.1 (EastAsianWidth.txt), joined where only unassigned code
// points lie between.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x231a, 0x231b, 1},
		{0x2329, 0x232a, 1},
		{0x23e9, 0x23ec, 1},
		{0x23f0, 0x23f0, 1},
		{0x23f3, 0x23f3, 1},
		{0x25fd, 0x25fe, 1},
		{0x2614, 0x2615, 1},
		{0x2648, 0x2653, 1},
		{0x267f, 0x267f, 1},
		{0x2693, 0x2693, 1},
		{0x26a1, 0x26a1, 1},
		{0x26aa, 0x26ab, 1},
		{0x26bd, 0x26be, 1},
		{0x26c4, 0x26c5, 1},
		{0x26ce, 0x26ce, 1},
		{0x26d4, 0x26d4, 1},
		{0x26ea, 0x26ea, 1},
		{0x26f2, 0x26f3, 1},
		{0x26f5, 0x26f5, 1},
		{0x26fa, 0x26fa, 1},
		{0x26fd, 0x26fd, 1},
		{0x2705, 0x2705, 1},
		{0x270a, 0x270b, 1},
		{0x2728, 0x2728, 1},
		{0x274c, 0x274c, 1},
		{0x274e, 0x274e, 1},
		{0x2753, 0x2755, 1},
		{0x2757, 0x2757, 1},
		{0x2795, 0x2797, 1},
		{0x27b0, 0x27b0, 1},
		{0x27bf, 0x27bf, 1},
		{0x2b1b, 0x2b1c, 1},
		{0x2b50, 0x2b50, 1},
		{0x2b55, 0x2b55, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0x4dbf, 1},
		{0x4e00, 0xa4cf, 1},
		{0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe10, 0xfe19, 1},
		{0xfe30, 0xfe6b, 1},
		{0xff01, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x1b2fb, 1},
		{0x1f004, 0x1f004, 1},
		{0x1f0cf, 0x1f0cf, 1},
		{0x1f18e, 0x1f18e, 1},
		{0x1f191, 0x1f19a, 1},
		{0x1f200, 0x1f320, 1},
		{0x1f32d, 0x1f335, 1},
		{0x1f337, 0x1f37c, 1},
		{0x1f37e, 0x1f393, 1},
		{0x1f3a0, 0x1f3ca, 1},
		{0x1f3cf, 0x1f3d3, 1},
		{0x1f3e0, 0x1f3f0, 1},
		{0x1f3f4, 0x1f3f4, 1},
		{0x1f3f8, 0x1f43e, 1},
		{0x1f440, 0x1f440, 1},
		{0x1f442, 0x1f4fc, 1},
		{0x1f4ff, 0x1f53d, 1},
		{0x1f54b, 0x1f54e, 1},
		{0x1f550, 0x1f567, 1},
		{0x1f57a, 0x1f57a, 1},
		{0x1f595, 0x1f596, 1},
		{0x1f5a4, 0x1f5a4, 1},
		{0x1f5fb, 0x1f64f, 1},
		{0x1f680, 0x1f6c5, 1},
		{0x1f6cc, 0x1f6cc, 1},
		{0x1f6d0, 0x1f6d2, 1},
		{0x1f6d5, 0x1f6d7, 1},
		{0x1f6dc, 0x1f6df, 1},
		{0x1f6eb, 0x1f6ec, 1},
		{0x1f6f4, 0x1f6fc, 1},
		{0x1f7e0, 0x1f7eb, 1},
		{0x1f7f0, 0x1f7f0, 1},
		{0x1f90c, 0x1f93a, 1},
		{0x1f93c, 0x1f945, 1},
		{0x1f947, 0x1f9ff, 1},
		{0x1fa70, 0x1faf8, 1},
		{0x20000, 0x3fffd, 1},
	},
}

// runeWidth is the number of columns a terminal gives to a character that
// visible has let through.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || r >= 0x1160 && r <= 0x11ff:
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// textWidth is the number of columns of a text without control characters.
func textWidth(s string) int {
	w := 0
	for _, r := range s {
		w += runeWidth(r)
	}
	return w
}

// fit cuts a text to at most columns, with an ellipsis where something is lost.
func fit(s string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if len(s) <= columns || textWidth(s) <= columns {
		return s
	}
	w := 0
	for i, r := range s {
		rw := runeWidth(r)
		if w+rw > columns-1 {
			return s[:i] + "…"
		}
		w += rw
	}
	return s
}

// pad fills a text with blanks up to columns.
func pad(s string, columns int) string {
	if n := columns - textWidth(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// ellipsisMiddle cuts the middle out of a path, whose end says more than its start.
func ellipsisMiddle(s string, columns int) string {
	if textWidth(s) <= columns || columns < 5 {
		return fit(s, columns)
	}
	head, tail := (columns-1)/3, columns-1-(columns-1)/3
	start, w := 0, 0
	for start < len(s) {
		r, n := utf8.DecodeRuneInString(s[start:])
		if w+runeWidth(r) > head {
			break
		}
		start, w = start+n, w+runeWidth(r)
	}
	end := len(s)
	w = 0
	for end > start {
		r, n := utf8.DecodeLastRuneInString(s[:end])
		if w+runeWidth(r) > tail {
			break
		}
		end, w = end-n, w+runeWidth(r)
	}
	return s[:start] + "…" + s[end:]
}
