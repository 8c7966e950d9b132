package ticket

import (
	"strings"
	"unicode/utf8"
)

// idRange is a range of labels of one family, ends included.
type idRange struct {
	from, to label
	reversed bool // written from the higher to the lower
}

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

// setRange makes ref a range if both ends are labels of one family. The second end
// may leave the family out if they ascend. Ends that descend change places.
func (r *idRef) setRange(from, to string) bool {
	a, ok := parseLabel(strings.TrimPrefix(from, "#"))
	if !ok {
		return false
	}
	b, ok := parseLabel(strings.TrimPrefix(to, "#"))
	if !ok {
		return false
	}
	short := b.family == "" && a.family != ""
	if short && a.family != "n" { // n01-17 is the id of a node
		b.family = a.family
	}
	if a.family != b.family || a.n != b.n {
		return false
	}
	switch order := a.compare(b); {
	case order < 0:
		r.ends = &idRange{from: a, to: b}
	case order > 0 && !short:
		r.ends = &idRange{from: b, to: a, reversed: true}
	default:
		return false
	}
	return true
}
