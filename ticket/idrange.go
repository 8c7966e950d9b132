package ticket

import (
	"strings"
	"unicode/utf8"
)

// idRange is a range of labels of one family, ends included.
type idRange struct{ from, to label }

// extendRange turns an id into a range if it is one: T009-T014, T009–T014,
// T009..T014, T009 to T014, also 1.1-1.4 and T009-014.
func extendRange(s string, ref idRef) idRef {
	for i := 1; i < len(ref.text)-1 && i < 2*maxLabelBytes; i++ {
		if ref.text[i] == '-' || strings.HasPrefix(ref.text[i:], "..") {
			n := 1
			if ref.text[i] == '.' {
				n = 2
			}
			if ref.setRange(ref.text[:i], ref.text[i+n:]) {
				return ref
			}
		}
	}
	i := skipSpace(s, ref.end)
	if i == len(s) || strings.IndexByte("-.~tT", s[i]) < 0 && s[i] < utf8.RuneSelf {
		return ref
	}
	for _, sep := range [...]string{"–", "—", "..", "…", "-", "~", "to ", "through "} {
		if !hasPrefixFold(s[i:], sep) {
			continue
		}
		other, ok := oneID(s, skipSpace(s, i+len(sep)))
		if ok && ref.setRange(ref.text, other.text) {
			ref.end = other.end
			ref.text = s[ref.start:ref.end]
		}
		break
	}
	return ref
}

// setRange makes ref a range if both ends are labels of one family and ascend. The
// second end may leave the family out.
func (r *idRef) setRange(from, to string) bool {
	a, ok := parseLabel(strings.TrimPrefix(from, "#"))
	if !ok {
		return false
	}
	b, ok := parseLabel(strings.TrimPrefix(to, "#"))
	if !ok {
		return false
	}
	if b.family == "" && a.family != "n" { // n01-17 is the id of a node
		b.family = a.family
	}
	if a.family != b.family || a.n != b.n || a.compare(b) >= 0 {
		return false
	}
	r.ends = &idRange{a, b}
	return true
}
