package ticket

import "strconv"

// maxSlug is where slugs are cut. A hyphen the cut leaves at the end stays.
const maxSlug = 48

// nodeID returns the id of the index-th task: n<index>-<slug>, the index with at
// least two digits.
func nodeID(index int, title string) string {
	b := make([]byte, 0, 8+maxSlug)
	b = append(b, 'n')
	if index < 10 {
		b = append(b, '0')
	}
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, '-')
	from := len(b)
	if b = appendSlug(b, title); len(b) == from {
		b = append(b, "step"...)
	}
	return string(b)
}

// appendSlug appends the slug of a title: ASCII letters in lower case and digits,
// every run of anything else as one hyphen, none at the ends, cut at maxSlug.
func appendSlug(dst []byte, title string) []byte {
	from := len(dst)
	gap := false
	for _, r := range title {
		// Two characters outside ASCII have an ASCII letter as their lower case.
		then := false
		switch {
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r == '\u212a': // Kelvin sign
			r = 'k'
		case r == '\u0130': // I with a dot: i and a combining dot
			r, then = 'i', true
		}
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			gap = true
			continue
		}
		if gap && len(dst) > from {
			if dst = append(dst, '-'); len(dst)-from == maxSlug {
				return dst
			}
		}
		gap = then
		if dst = append(dst, byte(r)); len(dst)-from == maxSlug {
			return dst
		}
	}
	return dst
}
